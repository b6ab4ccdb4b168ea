"""Letters to a real OpenSSH server: the contract of a channel, and every failure on the way."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from uuid import UUID

import asyncssh
import pytest

from dunwell.accounts.installation.delivery_providers import BatchSettings
from dunwell.adapters.channels.print_service.channel import PrintServiceChannel
from dunwell.adapters.channels.sftp.channel import SftpChannel, SftpFolder
from dunwell.contact.sending.channel import Accepted, DeliveryProviderUnusable, Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.adapters.print_service_contract import PrintServiceContract
from tests.servers.sshd import Sshd
from tests.support.letter_harness import PROVIDER, LetterHarness, a_letter_harness, write_status
from tests.support.merchants import a_merchant
from tests.support.print_files import PrintServiceUnderTest, list_files, list_letters, under_test


@pytest.fixture
async def channel(sshd: Sshd, resources: Resources) -> AsyncIterator[PrintServiceUnderTest]:
    async with resources.database.transaction() as tx:
        merchant = await a_merchant(tx, now=resources.clock.now())
    adapter = SftpChannel(PROVIDER, sshd.provider(), sshd.secrets, resources)
    yield under_test(adapter, sshd.letter_folder, merchant.merchant_id)
    await adapter.close()


@pytest.fixture
async def letter_harness(
    sshd: Sshd, resources: Resources, clock: MovableClock
) -> AsyncIterator[LetterHarness]:
    provider = sshd.provider(batch=BatchSettings(every_minutes=60, most=2))
    adapter = SftpChannel(PROVIDER, provider, sshd.secrets, resources)
    yield await a_letter_harness(resources, clock, adapter, sshd.letter_folder)
    await adapter.close()


class TestSftp(PrintServiceContract):
    # This fixture replaces the abstract one of the contract by the one of this module.
    @pytest.fixture
    def channel(self, channel: PrintServiceUnderTest) -> PrintServiceUnderTest:
        return channel


async def test_nothing_is_uploaded_to_a_server_with_another_host_key(
    sshd: Sshd, channel: PrintServiceUnderTest
) -> None:
    await channel.adapter.send(channel.a_message())
    before = list_files(sshd.letter_folder)
    sshd.stop()
    provider = sshd.provider()
    sshd.replace_host_key()
    sshd.start()
    other = channel.a_message(communication_id=_an_id())
    assert await channel.adapter.send(other) == Temporary(600)
    assert list_files(sshd.letter_folder) == before
    letter_folder = SftpFolder(
        provider, password=None, key=sshd.secrets["deliveryProviders/post/keyFile"]
    )
    with pytest.raises(ConnectionError, match="another host key"):
        await letter_folder.list()


async def test_an_unknown_client_key_is_a_temporary_failure(
    sshd: Sshd, resources: Resources, channel: PrintServiceUnderTest
) -> None:
    unknown = asyncssh.generate_private_key("ssh-ed25519").export_private_key()
    adapter = SftpChannel(
        PROVIDER, sshd.provider(), {"deliveryProviders/post/keyFile": unknown}, resources
    )
    assert await adapter.send(channel.a_message()) == Temporary(60)
    assert list_files(sshd.letter_folder) == []
    await adapter.close()


def test_an_invalid_key_makes_the_provider_unusable(sshd: Sshd, resources: Resources) -> None:
    with pytest.raises(DeliveryProviderUnusable):
        SftpChannel(PROVIDER, sshd.provider(), {"deliveryProviders/post/keyFile": b"x"}, resources)
    with pytest.raises(DeliveryProviderUnusable):
        SftpChannel(PROVIDER, sshd.provider(host_key="ssh-ed25519 AAAAxxxxxxxxxxxx"), {}, resources)


async def test_a_letter_is_accepted_once_the_full_disk_has_space_again(
    sshd: Sshd, channel: PrintServiceUnderTest
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a disk that is full")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(sshd.letter_folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: ASYNC221
        pytest.skip("this machine mounts nothing")
    try:
        full = sshd.letter_folder / "full"
        full.write_bytes(b"x" * 64 * 1024)
        assert await channel.adapter.send(channel.a_message()) == Temporary(60)
        assert channel.received() == []
        full.unlink()
        assert isinstance(await channel.adapter.send(channel.a_message()), Accepted)
        assert len(channel.received()) == 1
    finally:
        subprocess.run(["umount", "-l", str(sshd.letter_folder)], check=True)  # noqa: ASYNC221


async def test_a_missing_folder_is_not_created(
    sshd: Sshd, resources: Resources, channel: PrintServiceUnderTest
) -> None:
    provider = sshd.provider(folder=str(sshd.letter_folder / "missing"))
    adapter = SftpChannel(PROVIDER, provider, sshd.secrets, resources)
    assert await adapter.send(channel.a_message()) == Temporary(60)
    assert list_files(sshd.letter_folder) == []
    await adapter.close()


async def test_a_letter_is_accepted_once_the_server_is_back(
    sshd: Sshd, channel: PrintServiceUnderTest
) -> None:
    await channel.adapter.send(channel.a_message())
    sshd.stop()
    message = channel.a_message(communication_id=_an_id())
    assert await channel.adapter.send(message) == Temporary(60)
    sshd.start()
    assert isinstance(await channel.adapter.send(message), Accepted)
    assert len(channel.received()) == 2


async def test_connections_cut_during_uploads_neither_lose_nor_repeat_letters(
    sshd: Sshd, channel: PrintServiceUnderTest
) -> None:
    messages = [channel.a_message(communication_id=_an_id()) for _ in range(40)]
    waiting = [asyncio.create_task(channel.adapter.send(each)) for each in messages]
    for _ in range(5):
        await asyncio.sleep(0.03)
        sshd.cut()
    outcomes = await asyncio.gather(*waiting)
    assert {type(each) for each in outcomes} <= {Accepted, Temporary}
    for message, outcome in zip(messages, outcomes, strict=True):
        if isinstance(outcome, Temporary):
            assert isinstance(await channel.adapter.send(message), Accepted)
    assert len(list_letters(sshd.letter_folder)) == 40
    assert [name for name in list_files(sshd.letter_folder) if name.endswith(".part")] == []


async def test_a_stalled_server_is_a_temporary_failure_after_a_timeout(
    sshd: Sshd, channel: PrintServiceUnderTest, resources: Resources
) -> None:
    """The letter was not accepted, and a later attempt produces only one."""
    key = sshd.secrets["deliveryProviders/post/keyFile"]
    letter_folder = SftpFolder(sshd.provider(), password=None, key=key, answer_timeout_seconds=1)
    adapter = PrintServiceChannel(PROVIDER, sshd.provider(), letter_folder, resources)
    await adapter.send(channel.a_message())
    sshd.halt()
    message = channel.a_message(communication_id=_an_id())
    assert await adapter.send(message) == Temporary(60)
    sshd.resume()
    assert isinstance(await adapter.send(message), Accepted)
    assert len(channel.received()) == 2
    await adapter.close()


async def test_a_batch_is_released_over_sftp(sshd: Sshd, letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1", "A-2")
    assert await letter_harness.release() == 2
    (manifest,) = letter_harness.manifests()
    assert sorted(each["reference"] for each in manifest["letters"]) == sorted(
        letter_harness.references()
    )


async def test_a_server_stopped_before_the_manifest_loses_no_letter(
    sshd: Sshd, letter_harness: LetterHarness
) -> None:
    await letter_harness.create("A-1", "A-2")
    sshd.stop()
    assert await letter_harness.release() == 0
    sshd.start()
    assert await letter_harness.release() == 2
    (manifest,) = letter_harness.manifests()
    assert manifest["head"]["letters"] == 2


async def test_a_returned_letter_is_followed_by_an_email(
    sshd: Sshd, letter_harness: LetterHarness
) -> None:
    """The post returned the letter, as a status file reports."""
    await letter_harness.create("A-1")
    (reference,) = letter_harness.references()
    letter_harness.write_status_file(
        "1.csv", write_status((reference, "returned", "2026-03-04T12:00:00Z"))
    )
    assert await letter_harness.read_statuses() == 1
    (item,) = await letter_harness.items()
    assert item[1:3] == ("FAILED", "returned by the post")
    assert [len(each.sent) for each in letter_harness.harness.channels] == [1, 0, 0]
    assert len(letter_harness.files("status/done")) == 1


def _an_id() -> UUID:
    return UUID(bytes=os.urandom(16))
