"""Letters are written into a folder on this machine: the contract of channels, and failures of the
disk."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dunwell.accounts.installation.delivery_providers import FolderProvider
from dunwell.adapters.channels.folder.channel import FolderChannel
from dunwell.contact.sending.channel import Accepted, MessageFile, Temporary
from dunwell.platform.resources import Resources
from tests.adapters.print_service_contract import PrintServiceContract
from tests.support.children import PRINTER
from tests.support.files import an_image
from tests.support.merchants import a_merchant
from tests.support.print_files import (
    PrintServiceUnderTest,
    a_pdf,
    folder_unavailable,
    list_files,
    list_letters,
    remove_all,
    under_test,
)


@pytest.fixture
def letter_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "letters"
    folder.mkdir()
    return folder


def a_provider(letter_folder: Path, **changes: object) -> FolderProvider:
    return FolderProvider(**{"channel": "LETTER", "folder": str(letter_folder)} | changes)  # type: ignore[arg-type]


@pytest.fixture
async def channel(
    letter_folder: Path, resources: Resources
) -> AsyncIterator[PrintServiceUnderTest]:
    async with resources.database.transaction() as tx:
        merchant = await a_merchant(tx, now=resources.clock.now())
    adapter = FolderChannel("post", a_provider(letter_folder), resources, PRINTER)
    yield under_test(adapter, letter_folder, merchant.merchant_id)
    await adapter.close()


class TestFolder(PrintServiceContract):
    @pytest.fixture
    def channel(self, channel: PrintServiceUnderTest) -> PrintServiceUnderTest:
        return channel


async def test_enclosures_are_separate_files_if_the_provider_is_configured_so(
    letter_folder: Path, resources: Resources, channel: PrintServiceUnderTest
) -> None:
    adapter = FolderChannel("post", a_provider(letter_folder, enclosures="BESIDE"), resources)
    files = (
        MessageFile("Rechnung.pdf", "application/pdf", a_pdf(pages=2)),
        MessageFile("Bild.png", "image/png", an_image("PNG")),
    )
    assert isinstance(await adapter.send(channel.a_message(attachments=files)), Accepted)
    names = [name.partition(".")[2] for name in list_files(letter_folder)]
    assert sorted(names) == ["1.pdf", "2.png", "pdf"]
    await adapter.close()


async def test_a_missing_folder_is_a_temporary_failure_and_is_not_created(
    letter_folder: Path, channel: PrintServiceUnderTest
) -> None:
    with folder_unavailable(letter_folder):
        assert await channel.adapter.send(channel.a_message()) == Temporary(60)
        assert list_files(letter_folder) == []
    assert isinstance(await channel.adapter.send(channel.a_message()), Accepted)


async def test_equal_letters_have_equal_bytes(
    letter_folder: Path, channel: PrintServiceUnderTest, resources: Resources
) -> None:
    files = (MessageFile("Bild.png", "image/png", an_image("PNG")),)
    await channel.adapter.send(channel.a_message(attachments=files))
    first = list_letters(letter_folder)
    remove_all(letter_folder)
    async with resources.database.transaction() as tx:
        await tx.execute("UPDATE letter_batch_items SET state = 'UPLOADING'")
    await channel.adapter.send(channel.a_message(attachments=files))
    assert list_letters(letter_folder) == first
