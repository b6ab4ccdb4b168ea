"""What tests need of the host beside Python: poppler, zbar, qpdf, pgBouncer, a disk to mount."""

import os
import shutil
import subprocess
from typing import NoReturn

import pytest


def run_tool(name: str, *arguments: str) -> str:
    """What it prints."""
    program = find_tool(name)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def find_tool(name: str) -> str:
    """Where the program is."""
    # Servers' programs lie where not everybody's shell looks.
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if program is None:
        go_without(f"{name} is not installed; see .ci/run")
    return program


def go_without(reason: str) -> NoReturn:
    """What a newcomer's machine lacks skips the test; on CI it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
