"""Runs the commands in the operator's documentation in a shell, exactly as the pages print them."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.servers.debian import replace_in
from tests.support.postgres_versions import find_binaries_of

PAGES = Path(__file__).parents[2] / "docs" / "operator"
_TIMEOUT_SECONDS = 120
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
# The `dunwell` command. A command that serves is ended as soon as it reports that it is ready.
_DUNWELL = f"""#!{sys.executable}
import os, subprocess, sys
command = [{sys.executable!r}, "-m", "dunwell", *sys.argv[1:]]
if sys.argv[1] not in ("up", "web", "worker", "mail"):
    os.execv(command[0], command)
serving = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
print(serving.stdout.readline(), end="", flush=True)
serving.terminate()
sys.exit(serving.wait(30))
"""

Follow = Callable[..., str]


def read_section(section: str, page: str) -> str:
    """Return the text of a section with all its subsections. `section` is a heading of any
    level."""
    text = (PAGES / page).read_text()
    found = re.search(rf"^(#+) {re.escape(section)}\n", text, re.MULTILINE)
    assert found is not None, f"{page} has no section {section!r}"
    rest = text[found.end() :]
    # A comment in a code block looks like a heading.
    prose = _FENCED.sub(lambda block: " " * len(block[0]), rest)
    end = re.search(rf"^#{{1,{len(found[1])}}} ", prose, re.MULTILINE)
    return rest[: end.start()] if end else rest


def read_blocks(section: str, page: str = "recovery.md", language: str = "sh") -> list[str]:
    """Return the section's code blocks in a language, in order."""
    text = read_section(section, page)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def read_commands(section: str, page: str) -> list[str]:
    """Return the `dunwell` commands in the section's sentences, in order."""
    return re.findall(r"`(dunwell [^`]+)`", _FENCED.sub("", read_section(section, page)))


@pytest.fixture
def run_printed(tmp_path: Path) -> Follow:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "dunwell").write_text(_DUNWELL)
    (programs / "dunwell").chmod(0o755)

    def run(script: str, *, around: Sequence[str] = (), **variables: object) -> str:
        """Run commands as a page prints them and return their output. `around` is the command that
        runs the shell."""
        environment = {
            **{name: value for name, value in os.environ.items() if "DUNWELL" not in name},
            "PATH": f"{programs}:{find_binaries_of(15)}:{os.environ['PATH']}",
            **{name: str(value) for name, value in variables.items()},
        }
        done = subprocess.run(
            [*around, "sh", "-euc", script], env=environment, cwd=tmp_path, capture_output=True,
            text=True, timeout=_TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def follow(run_printed: Follow) -> Follow:
    def run(
        section: str, place: int = 0, *, page: str = "recovery.md",
        changes: Sequence[tuple[str, str]] = (), **variables: object,
    ) -> str:  # fmt: skip
        """Run one of the section's blocks of commands and return its output. `changes` replaces
        hosts and paths of the page; each must occur in the block."""
        return run_printed(replace_in(read_blocks(section, page)[place], changes), **variables)

    return run
