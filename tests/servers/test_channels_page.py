"""Follows docs/operator/channels.md literally: applies its delivery providers with the address of a
real server and runs its commands as they are printed."""

import asyncio
import getpass
import json
import re
import subprocess
from email import message_from_bytes
from email.policy import default
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dunwell.contact.sending.batches.status_file import load_status_format, parse_status_file
from dunwell.platform.resources import Resources
from tests.servers.debian import replace_in
from tests.servers.kannel import INCOMING_SECRET, PASSWORD, Kannel
from tests.servers.postfix import Postfix
from tests.servers.sms_world import NUMBER, wait_until
from tests.servers.sshd import Sshd
from tests.servers.test_email import drain, receiving_server
from tests.support.mail_servers import MailServer
from tests.support.operator_pages import (
    Follow,
    follow,
    read_blocks,
    read_commands,
    read_section,
    run_printed,
)
from tests.support.print_files import list_files
from tests.support.tools import find_noto_fonts

__all__ = ["follow", "receiving_server", "run_printed"]
_PAGE = "channels.md"


class Operator:
    """An operator at a shell who follows the page."""

    def __init__(self, resources: Resources, folder: Path, run: Follow) -> None:
        settings = resources.settings
        self.folder = folder
        self._run = partial(
            run, DUNWELL_DATABASE_URL=settings.database_url, DUNWELL_DATA_DIR=settings.data_dir
        )

    async def run(self, command: str) -> str:
        """Run the command in a thread, because servers in this process answer it."""
        return await asyncio.to_thread(self._run, command)

    async def apply(self, section: str, *changes: tuple[str, str]) -> None:
        """Apply the section's delivery providers. `changes` are replacements."""
        [block] = read_blocks(section, _PAGE, "yaml")
        path = self.folder / "installation.yaml"
        await asyncio.to_thread(path.write_text, replace_in(block, changes))
        await self.run("dunwell apply installation.yaml")


@pytest.fixture
def operator(resources: Resources, tmp_path: Path, run_printed: Follow) -> Operator:
    return Operator(resources, tmp_path, run_printed)


def read_test_command(section: str) -> str:
    """Return the page's `dunwell channel test` command."""
    [command] = [
        each for each in read_commands(section, _PAGE) if each.startswith("dunwell channel test")
    ]
    return command


async def test_the_pages_email_provider_sends_the_test_email(
    operator: Operator, postfix: Postfix, receiving_server: MailServer
) -> None:
    await operator.apply(
        "E-mail",
        ("mail.example.com:587", f"127.0.0.1:{postfix.port}"),
        ("STARTTLS  ", "NONE  "),
        ("    credentials: {user: dunwell, passwordFile: mail.password}\n", ""),
    )
    command = read_test_command("E-mail").replace("you@example.com", "you@example.org")
    assert "Provider mail accepted it: 250 2.0.0" in await operator.run(command)
    drain(postfix)
    [arrived] = receiving_server.taken
    message = message_from_bytes(arrived.content, policy=default)
    assert (arrived.recipient, message["Subject"]) == ("you@example.org", "Dunwell test message")


async def test_the_pages_sms_provider_sends_the_test_sms(
    operator: Operator, kannel: Kannel, tmp_path: Path
) -> None:
    (tmp_path / "sendsms.password").write_bytes(PASSWORD)
    (tmp_path / "incoming.secret").write_bytes(INCOMING_SECRET)
    await operator.apply("Choosing a gateway", ("http://127.0.0.1:13013", kannel.address))
    output = await operator.run(f"dunwell channel test sms-kannel --to {NUMBER} --from Nordwind")
    assert "Provider sms-kannel accepted it" in output

    async def has_arrived() -> bool:
        return len(kannel.centre.read_messages()) == 1

    await wait_until(has_arrived)


def ask_for_host_key(sshd: Sshd) -> str:
    """Return what `ssh-keyscan` prints for the server, as the page describes."""
    asked = ["ssh-keyscan", "-t", "ed25519", "-p", str(sshd.port), "127.0.0.1"]
    output = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    _, kind, key = output.split()
    return f"{kind} {key}"


async def test_the_pages_letter_provider_uploads_the_test_letter(
    operator: Operator, sshd: Sshd, tmp_path: Path
) -> None:
    (tmp_path / "letters_key").write_bytes(sshd.secrets["deliveryProviders/post/keyFile"])
    await operator.apply(
        "Print services",
        ("sftp.printer.example:22", f"127.0.0.1:{sshd.port}"),
        ("ssh-ed25519 AAAA...", await asyncio.to_thread(ask_for_host_key, sshd)),
        ("user: letters", f"user: {getpass.getuser()}"),
        ("folder: out", f"folder: {sshd.letter_folder}"),
    )
    assert "Provider letters accepted it" in await operator.run(read_test_command("Print services"))
    [manifest] = sshd.letter_folder.glob("test-*.json")
    made = json.loads(await asyncio.to_thread(manifest.read_text))
    assert made["head"].pop("test") is True
    [shown] = read_blocks("Print services", _PAGE, "json")
    assert list_keys(made) == list_keys(json.loads(shown))

    before = list_files(sshd.letter_folder)
    [more] = re.findall("add `(--out [^`]+)`", read_section("Print services", _PAGE))
    output = await operator.run(f"{read_test_command('Print services')} {more}")
    assert "specimen.pdf written, nothing handed over" in output
    assert list_files(sshd.letter_folder) == before


def list_keys(value: Any) -> Any:
    """Return the names in a document without their values."""
    if isinstance(value, dict):
        return {name: list_keys(each) for name, each in value.items()}
    return [list_keys(each) for each in value] if isinstance(value, list) else None


def test_the_pages_status_file_can_be_parsed() -> None:
    [shown] = read_blocks("Print services", _PAGE, "csv")
    [line] = parse_status_file("1.csv", shown.encode(), load_status_format("dunwell"))
    assert (line.reference, line.status) == ("aaaaa...", "POSTED")


async def test_the_pages_fonts_cover_every_script(operator: Operator) -> None:
    find_noto_fonts()
    [block] = read_blocks("Letters", _PAGE)
    # The printed command asks before it installs. The test only simulates the installation.
    block = replace_in(block, [("apt-get install ", "apt-get install --simulate --yes ")])
    without = await operator.run("dunwell doctor || true")
    assert "names in these scripts cannot be printed in letters" in without
    assert "letters can be printed in all" in await operator.run(f"{block}dunwell doctor || true")
