"""What tests need of the host beside Python: poppler, zbar, qpdf, pgBouncer, a disk to mount."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

# By Debian's package, one of its files.
_NOTO = {
    "fonts-noto-core": Path("/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf"),
    "fonts-noto-cjk": Path("/usr/share/fonts/opentype/noto/NotoSerifCJK-Regular.ttc"),
}


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


def find_noto_fonts() -> tuple[Path, ...]:
    """The folders of the fonts that print names in every script."""
    for package, file in _NOTO.items():
        if not file.exists():
            go_without(f"{package} is not installed; see .ci/run")
    return tuple(dict.fromkeys(file.parent for file in _NOTO.values()))


def go_without(reason: str) -> NoReturn:
    """What a newcomer's machine lacks skips the test; on CI it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
