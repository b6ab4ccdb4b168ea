"""Programs of the host that judge what we made: poppler, zbar, qpdf."""

import os
import shutil
import subprocess

import pytest


def run_tool(name: str, *arguments: str) -> str:
    """What it prints. Where the program is missing the test is skipped; on CI it fails."""
    program = shutil.which(name)
    if program is None:
        reason = f"{name} is not installed; see .ci/run"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
