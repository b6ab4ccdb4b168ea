"""The Postfix of examples/production signs Dunwell's mail with the OpenDKIM next to it."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

import aiosmtplib
import dkim
import pytest

from tests.servers.debian import (
    PRODUCTION,
    find_port,
    need_program,
    replace_in,
    wait_for,
    wait_until,
)
from tests.servers.postfix import start_postfix
from tests.support.threaded_mail_server import a_threaded_mail_server


@contextmanager
def run_opendkim(folder: Path) -> Iterator[int]:
    """Yield the port of an OpenDKIM with the operator's file, and a key made as that file says."""
    program = need_program("opendkim", "opendkim")
    need_program("opendkim-genkey", "opendkim-tools")
    text = (PRODUCTION / "opendkim.conf").read_text()
    [command] = re.findall(r"^#   (opendkim-genkey .*)$", text, re.MULTILINE)
    made = replace_in(command, [("/etc/dkimkeys", str(folder))])
    subprocess.run(made.split(), check=True, capture_output=True)
    port = find_port()
    changes = [
        ("KeyFile /etc/dkimkeys", f"KeyFile {folder}"), ("8891@", f"{port}@"),
        ("UserID opendkim", "UserID root"), ("Syslog yes", "Syslog no"),
    ]  # fmt: skip
    # The folder for temporary files above this one is writable for every user.
    text = replace_in(text, changes) + "RequireSafeKeys no\n"
    (folder / "opendkim.conf").write_text(text)
    process = subprocess.Popen([program, "-f", "-x", folder / "opendkim.conf"])
    try:
        wait_for(port, process, folder / "none")
        yield port
    finally:
        process.terminate()
        process.wait()


def read_record(folder: Path) -> bytes:
    """Return the DNS record that opendkim-genkey tells an operator to publish."""
    parts: list[str] = re.findall(r'"([^"]*)"', (folder / "dunwell.txt").read_text())
    return "".join(parts).encode()


def a_message() -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Nordwind <claims@example.com>"
    message["To"], message["Subject"] = "erika@customer.example", "Zahlungserinnerung"
    message.set_content("Bitte zahlen Sie.\n")
    return message


async def test_mail_from_dunwell_is_signed_with_dkim(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    asked: list[bytes] = []

    def find_record(name: bytes, timeout: float = 5) -> bytes:
        asked.append(name)
        return read_record(keys)

    with (
        run_opendkim(keys) as milter_port,
        start_postfix(tmp_path / "own", milter_port=milter_port) as postfix,
        a_threaded_mail_server(postfix.world_port) as receiving_server,
    ):
        async with aiosmtplib.SMTP(hostname="127.0.0.1", port=postfix.port) as client:
            await client.send_message(a_message())
        wait_until(lambda: bool(receiving_server.taken))
        [taken] = receiving_server.taken
    assert dkim.verify(taken.content, dnsfunc=find_record)
    assert asked == [b"dunwell._domainkey.example.com."]


async def test_mail_is_refused_while_the_dkim_signer_is_down(tmp_path: Path) -> None:
    with (
        start_postfix(tmp_path / "own", milter_port=find_port()) as postfix,
        a_threaded_mail_server(postfix.world_port) as receiving_server,
    ):
        async with aiosmtplib.SMTP(hostname="127.0.0.1", port=postfix.port) as client:
            with pytest.raises(aiosmtplib.SMTPResponseException) as refused:
                await client.send_message(a_message())
        assert 400 <= refused.value.code < 500
    assert receiving_server.taken == []
