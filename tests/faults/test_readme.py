"""The README's "Your first claim, with curl", run as it is printed, in a separate folder."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.installation import find_free_port, plain_environment, wait_until

_ROOT = Path(__file__).parents[2]
_TIMEOUT_SECONDS = 120


class Shell:
    """A terminal in the folder. It runs lines of the README to their end, or keeps them running."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, lines: str) -> str:
        """Run the lines in bash and return their output."""
        done = subprocess.run(
            ["bash", "-euc", lines], cwd=self.folder, env=plain_environment(),
            capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def keep(self, line: str, output: Path) -> Iterator[None]:
        """Run a line that does not end by itself and write its output to the file."""
        with output.open("w") as file:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {line}"], cwd=self.folder, env=plain_environment(),
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(_TIMEOUT_SECONDS)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a checkout that has been set up and has no data."""
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return Shell(tmp_path)


def _read_blocks() -> list[str]:
    """Return the section's blocks of commands with free ports in place of 8000 and 8099."""
    readme = (_ROOT / "README.md").read_text()
    section = readme.partition("## Your first claim, with curl")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.+?)^```", section, re.DOTALL | re.MULTILINE)
    ports = {
        "127.0.0.1:8000": f"127.0.0.1:{find_free_port()}",
        "PORT=8099": f"PORT={find_free_port()}",
    }
    for printed, free in ports.items():
        blocks = [block.replace(printed, free) for block in blocks]
    return blocks


def test_the_readmes_commands_create_a_claim_and_deliver_its_webhooks(shell: Shell) -> None:
    started, applied, receive, created, moved = _read_blocks()
    setup, up = started.splitlines()
    assert setup == "make setup"
    port = re.search(r"API=http://127\.0\.0\.1:(\d+)/", created)
    assert port
    up_output, events = shell.folder / "up.log", shell.folder / "receiver.log"
    with shell.keep(f"{up} --port {port[1]}", up_output):
        wait_until(lambda: "ready http" in up_output.read_text(), "Dunwell to start")
        report = shell.run(applied)
        secrets = {name: re.search(rf"\b{name}_\S+", report) for name in ("dwc", "dws", "whsec")}
        for name, found in secrets.items():
            assert found, (name, report)
            receive = receive.replace(f"{name}_...", found[0])
            created = created.replace(f"{name}_...", found[0])
        receiver = receive.replace("$PORT", applied.splitlines()[0].removeprefix("PORT="))
        with shell.keep(receiver, events):
            wait_until(lambda: "listening" in events.read_text(), "the receiver to start")
            token, _, answer = shell.run(created).partition("\n")
            assert json.loads(answer)["result"][0]["id"] > 0, answer
            wait_until(lambda: "CHECKPOINT_REACHED" in events.read_text(), "the first event")
            shell.run(f"TOKEN={token}\nAPI=http://127.0.0.1:{port[1]}/api\n{moved}")
            wait_until(lambda: "ESCALATED" in events.read_text(), "the event of the first e-mail")
            assert "MY-FIRST-1" in events.read_text()
