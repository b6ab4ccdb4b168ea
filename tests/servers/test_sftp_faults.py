"""Letters by SFTP to a server that requires a password, has a full disk or stops after a rename;
and a print service whose statuses are too many, late, repeated or wrong."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import asyncssh
import pytest

from dunwell.accounts.installation.delivery_providers import BatchSettings
from dunwell.adapters.channels.sftp.channel import SftpChannel, SftpFolder
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.contact.sending.batches.status_file import MAX_STATUS_LINES
from dunwell.contact.sending.channel import Accepted, Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.servers.sshd import Sshd, make_sshd
from tests.support.letter_harness import PROVIDER, LetterHarness, a_letter_harness, write_status
from tests.support.merchants import a_merchant
from tests.support.print_files import PrintServiceUnderTest, list_files, list_letters, under_test

_PASSWORD = b"correct horse battery"
_WITH_PASSWORD = {"key_file": None, "password_file": "letters.password"}
# Longer than the lease of a batch.
_LEASE = timedelta(minutes=4)
_NOON, _TEN = "2026-03-04T12:00:00Z", "2026-03-04T10:00:00Z"
_REPORTS = """
SELECT state, outcome, count(*) AS count FROM delivery_reports WHERE $1 > 0
GROUP BY state, outcome ORDER BY state, outcome
"""


@pytest.fixture
def by_password(tmp_path: Path) -> Iterator[Sshd]:
    """A server whose user signs in with a password."""
    server = make_sshd(tmp_path / "by-password")
    if not server.take_password(_PASSWORD):
        pytest.skip("only root can give a server a file of passwords of its own")
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def message_of(resources: Resources, by_password: Sshd) -> PrintServiceUnderTest:
    async with resources.database.transaction() as tx:
        merchant = await a_merchant(tx, now=resources.clock.now())
    adapter = with_password(by_password, resources, _PASSWORD)
    return under_test(adapter, by_password.letter_folder, merchant.merchant_id)


@pytest.fixture
async def letter_harness(
    sshd: Sshd, resources: Resources, clock: MovableClock
) -> AsyncIterator[LetterHarness]:
    provider = sshd.provider(batch=BatchSettings(every_minutes=60, most=2))
    adapter = SftpChannel(PROVIDER, provider, sshd.secrets, resources)
    yield await a_letter_harness(resources, clock, adapter, sshd.letter_folder)
    await adapter.close()


def fill(path: Path) -> None:
    """Fill the disk completely. Raises OSError when it is full."""
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def with_password(
    server: Sshd, resources: Resources, password: bytes, **changes: object
) -> SftpChannel:
    provider = server.provider(**_WITH_PASSWORD | changes)
    return SftpChannel(
        PROVIDER, provider, {"deliveryProviders/post/passwordFile": password}, resources
    )


async def test_letters_are_uploaded_with_a_password(
    by_password: Sshd, resources: Resources, message_of: PrintServiceUnderTest
) -> None:
    """A password file ends with a line break, which is not part of the password."""
    adapter = with_password(by_password, resources, _PASSWORD + b"\n")
    assert isinstance(await adapter.send(message_of.a_message()), Accepted)
    assert len(list_letters(by_password.letter_folder)) == 1
    await adapter.close()


async def test_a_wrong_password_is_a_temporary_failure_until_corrected(
    by_password: Sshd, resources: Resources, message_of: PrintServiceUnderTest
) -> None:
    wrong = with_password(by_password, resources, b"wrong")
    message = message_of.a_message()
    assert await wrong.send(message) == Temporary(60)
    with pytest.raises(PermissionError):
        await wrong.print_provider.letter_folder.list()
    await wrong.close()
    assert list_files(by_password.letter_folder) == []
    right = with_password(by_password, resources, _PASSWORD)
    assert isinstance(await right.send(message), Accepted)
    await right.close()


async def test_the_password_is_not_sent_to_a_server_with_another_host_key(
    by_password: Sshd, resources: Resources, message_of: PrintServiceUnderTest
) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    adapter = with_password(by_password, resources, _PASSWORD, host_key=other)
    assert await adapter.send(message_of.a_message()) == Temporary(600)
    assert list_files(by_password.letter_folder) == []
    await adapter.close()


async def test_a_connection_whose_session_for_files_is_refused_is_closed(
    tmp_path: Path, resources: Resources
) -> None:
    server = make_sshd(tmp_path / "no-files")
    server.refuse_files()
    server.start()
    channel = SftpChannel(PROVIDER, server.provider(), server.secrets, resources)
    try:
        for _ in range(3):
            with pytest.raises(ConnectionError):
                await channel.print_provider.letter_folder.list()
        async with asyncio.timeout(20):
            while server.count_sessions():  # noqa: ASYNC110 - no event signals this
                await asyncio.sleep(0.05)
    finally:
        await channel.close()
        server.stop()


class InterruptedLetterFolder(SftpFolder):
    """A letter folder whose server stops after the manifest was renamed and before it responds."""

    server: Sshd

    async def finish_part(self, name: str) -> None:
        await super().finish_part(name)
        self.server.stop()
        raise ConnectionError(name)


async def test_a_batch_is_released_once_if_the_server_stops_after_the_rename(
    sshd: Sshd, letter_harness: LetterHarness
) -> None:
    letter_folder = InterruptedLetterFolder(
        sshd.provider(), password=None, key=sshd.secrets["deliveryProviders/post/keyFile"]
    )
    letter_folder.server = sshd
    whole, letter_harness.adapter._letter_folder = (
        letter_harness.adapter._letter_folder,
        letter_folder,
    )
    await letter_harness.create("A-1", "A-2")
    assert await letter_harness.release() == 0
    letter_harness.adapter._letter_folder = whole
    sshd.start()
    (before,) = letter_harness.manifests()
    letter_harness.harness.clock.advance(_LEASE)
    await letter_harness.release()
    assert letter_harness.manifests() == [before]
    assert [row[0] for row in await letter_harness.items()] == ["BATCHED"] * 2
    await letter_folder.close()


async def test_a_batch_is_released_whole_once_the_full_disk_has_space_again(
    sshd: Sshd, letter_harness: LetterHarness
) -> None:
    """The print service's disk has space for the letters but not for the manifest."""
    if os.getuid() != 0:
        pytest.skip("only root can make a disk that is full")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(sshd.letter_folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: ASYNC221
        pytest.skip("this machine mounts nothing")
    try:
        await letter_harness.create("A-1", "A-2")
        full = sshd.letter_folder / "full"
        with pytest.raises(OSError, match="No space"):
            fill(full)
        assert await letter_harness.release() == 0
        assert [row[0] for row in await letter_harness.items()] == ["WAITING"] * 2
        assert letter_harness.manifests() == []
        full.unlink()
        assert await letter_harness.release() == 2
        (manifest,) = letter_harness.manifests()
        assert manifest["head"]["letters"] == 2
    finally:
        subprocess.run(["umount", "-l", str(sshd.letter_folder)], check=True)  # noqa: ASYNC221


async def test_repeated_late_and_forged_statuses_are_recorded_once(
    letter_harness: LetterHarness,
) -> None:
    await letter_harness.create("A-1", "A-2")
    first, second = letter_harness.references()
    forged = second[:-1] + ("a" if second[-1] != "a" else "b")
    letter_harness.write_status_file(
        "1.csv", write_status((first, "posted", _NOON), (forged, "returned", _NOON))
    )
    letter_harness.write_status_file(
        "2.csv", write_status((first, "posted", _NOON), (first, "printed", _TEN))
    )
    letter_harness.write_status_file(
        "3.csv", write_status((first, "posted", _NOON), (forged, "returned", _NOON))
    )
    assert await letter_harness.read_statuses() == 3
    assert sorted(await letter_harness.items(), key=str) == sorted([
        ("WAITING", "ACCEPTED", None, "POSTED", True), ("WAITING", "ACCEPTED", None, None, False),
    ], key=str)  # fmt: skip
    reports = [tuple(row) for row in await letter_harness.harness.rows(_REPORTS)]
    assert reports == [
        ("DELAYED", "IGNORED", 1), ("DELIVERED", "DELIVERED", 1), ("RETURNED", "UNMATCHED", 1),
    ]  # fmt: skip


async def test_the_largest_allowed_status_file_is_read_completely(
    letter_harness: LetterHarness,
) -> None:
    """Only one of its lines is about our letter; thousands are not."""
    await letter_harness.create("A-1")
    (reference,) = letter_harness.references()
    strange = [(f"X-{number}", "posted", _NOON) for number in range(MAX_STATUS_LINES - 1)]
    letter_harness.write_status_file(
        "1.csv", write_status(*strange, (reference, "returned", _NOON))
    )
    assert await letter_harness.read_statuses() == 1
    while await process_reports(letter_harness.harness.resources):
        pass
    (item,) = await letter_harness.items()
    assert item[1:3] == ("FAILED", "returned by the post")
    assert len(letter_harness.files("status/done")) == 1
