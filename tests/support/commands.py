"""Reads the modules of all commands, so that copies of the process that did need not."""

import pkgutil
from importlib import import_module

import dunwell.interfaces.cli

for _found in pkgutil.iter_modules(dunwell.interfaces.cli.__path__):
    import_module(f"dunwell.interfaces.cli.{_found.name}")
