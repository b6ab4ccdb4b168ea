"""The findings and remedies of doctor for delivery providers whose real server has a fault."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncssh
import pytest

from dunwell.accounts.installation.delivery_providers import FolderProvider
from dunwell.interfaces.cli.findings.email import check_email_provider
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.interfaces.cli.findings.letters import check_print_provider
from tests.servers.dovecot import Dovecot
from tests.servers.sshd import Sshd
from tests.support.print_files import list_files
from tests.support.smtp_providers import a_provider

_NOBODY = 65_534


def read(found: DoctorFinding) -> tuple[str, str]:
    """Return the mark and the text without its variable parts. Every fault must have a remedy."""
    assert not found.is_fault or found.remedy
    return found.mark, found.words


async def test_a_working_letter_server_is_reported_as_ok(sshd: Sshd) -> None:
    mark, words = read(await check_print_provider("post", sshd.provider(), sshd.secrets))
    assert (mark, words.split(" in ")[0]) == ("ok", "writes, reads and removes")
    assert list_files(sshd.letter_folder) == ["released"]
    assert list_files(sshd.letter_folder / "released") == []


async def test_another_host_key_is_a_fault(sshd: Sshd) -> None:
    provider = sshd.provider()
    sshd.stop()
    sshd.replace_host_key()
    sshd.start()
    found = await check_print_provider("post", provider, sshd.secrets)
    assert read(found) == (
        "FAULT", "the server has another host key than the pinned one: nothing is handed over",
    )  # fmt: skip
    assert list_files(sshd.letter_folder) == []


async def test_a_key_that_the_server_does_not_know_is_a_fault(sshd: Sshd) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key()
    found = await check_print_provider(
        "post", sshd.provider(), {"deliveryProviders/post/keyFile": other}
    )
    words = "the server refuses the user, the key or the password"
    assert read(found) == ("FAULT", words)
    assert "keyFile" in (found.remedy or "")


async def test_a_server_without_write_permission_is_a_fault(sshd: Sshd) -> None:
    path = sshd.folder / "sshd_config"
    sshd.stop()
    path.write_text(path.read_text().replace("internal-sftp", "internal-sftp -R"))
    sshd.start()
    found = await check_print_provider("post", sshd.provider(), sshd.secrets)
    assert read(found) == ("FAULT", f"we may not write in {sshd.letter_folder}")


async def test_a_server_that_refuses_the_folder_for_manifest_copies_is_a_fault(sshd: Sshd) -> None:
    """Once an administrator of the server has created the folder, everything works."""
    path, copies = sshd.folder / "sshd_config", sshd.letter_folder / "released"
    sshd.stop()
    path.write_text(path.read_text().replace("internal-sftp", "internal-sftp -P mkdir"))
    sshd.start()
    found = await check_print_provider("post", sshd.provider(), sshd.secrets)
    words = "but no copies of manifests in its folder released"
    assert read(found) == ("FAULT", f"accepts letters in {sshd.letter_folder}, {words}")
    assert "permission to create that folder" in (found.remedy or "")
    copies.mkdir()
    assert (await check_print_provider("post", sshd.provider(), sshd.secrets)).mark == "ok"
    assert list_files(copies) == []


async def test_a_file_in_place_of_the_folder_for_manifest_copies_is_a_fault(sshd: Sshd) -> None:
    (sshd.letter_folder / "released").write_bytes(b"")
    found = await check_print_provider("post", sshd.provider(), sshd.secrets)
    assert found.mark == "FAULT"
    assert "No file may have its name" in (found.remedy or "")


async def test_a_missing_folder_or_an_unreachable_server_is_a_fault(sshd: Sshd) -> None:
    provider = sshd.provider(folder=f"{sshd.letter_folder}/gone")
    found = await check_print_provider("post", provider, sshd.secrets)
    assert read(found) == ("FAULT", f"there is no folder {sshd.letter_folder}/gone")
    sshd.stop()
    found = await check_print_provider("post", sshd.provider(), sshd.secrets)
    assert read(found) == ("FAULT", "the server does not respond")


@contextmanager
def a_closed_folder() -> Iterator[Path]:
    """Return a folder that this user may read but not write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        before = os.geteuid()
        if before == 0:
            os.seteuid(_NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(before)


async def test_a_missing_or_read_only_folder_is_a_fault(tmp_path: Path) -> None:
    with a_closed_folder() as folder:
        provider = FolderProvider(channel="LETTER", folder=str(folder))
        found = await check_print_provider("post", provider, {})
    assert read(found) == ("FAULT", f"we may not write in {folder}")
    provider = FolderProvider(channel="LETTER", folder=str(tmp_path / "gone"))
    found = await check_print_provider("post", provider, {})
    assert read(found) == ("FAULT", f"there is no folder {tmp_path}/gone")
    assert "mount its disk" in (found.remedy or "")


@pytest.mark.parametrize(
    ("changes", "password", "mark", "words"),
    [
        ({}, b"right\n", "ok", "the mailbox at SERVER accepts the login as returns"),
        ({}, b"wrong", "FAULT", "the mailbox at SERVER refuses the login"),
        ({}, None, "FAULT", "the mailbox cannot be used"),
        (
            {"folder": "Elsewhere"}, b"right", "FAULT",
            "the mailbox at SERVER is unavailable: it has no folder Elsewhere",
        ),
        (
            {"server": "127.0.0.1:9"}, b"right", "FAULT",
            "the mailbox at SERVER is unavailable: ConnectionRefusedError",
        ),
    ],
)  # fmt: skip
async def test_an_unreadable_mailbox_is_a_fault(
    dovecot: Dovecot, changes: dict[str, str], password: bytes | None, mark: str, words: str
) -> None:
    mailbox = {
        "server": f"127.0.0.1:{dovecot.imap_port}", "encryption": "NONE",
        "credentials": {"user": "returns", "passwordFile": "p"}, **changes,
    }  # fmt: skip
    name = "deliveryProviders/post/mailbox/credentials/passwordFile"
    secrets = {} if password is None else {name: password}
    found = (await check_email_provider("post", a_provider(9, mailbox=mailbox), secrets))[1]
    assert read(found) == (mark, words.replace("SERVER", str(mailbox["server"])))
