"""Programs that tests need on the host besides Python: poppler, zbar, qpdf, pgBouncer, a mountable
disk."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

# Debian package -> one of its files.
_NOTO = {
    "fonts-noto-core": Path("/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf"),
    "fonts-noto-cjk": Path("/usr/share/fonts/opentype/noto/NotoSerifCJK-Regular.ttc"),
}


def run_tool(name: str, *arguments: str) -> str:
    """Run the program and return its output."""
    program = find_tool(name)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def find_tool(name: str) -> str:
    """Return the path of the program."""
    # Programs of servers are in a folder that is not in every user's PATH.
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if program is None:
        skip_or_fail(f"{name} is not installed; see .ci/run")
    return program


def find_noto_fonts() -> tuple[Path, ...]:
    """Return the folders of the fonts that cover every script."""
    for package, file in _NOTO.items():
        if not file.exists():
            skip_or_fail(f"{package} is not installed; see .ci/run")
    return tuple(dict.fromkeys(file.parent for file in _NOTO.values()))


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test if this host lacks a program; on CI, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
