"""Imports the modules of all commands, so that forked processes need not import them."""

import pkgutil
from importlib import import_module

import dunwell.interfaces.cli

for _found in pkgutil.iter_modules(dunwell.interfaces.cli.__path__):
    import_module(f"dunwell.interfaces.cli.{_found.name}")
