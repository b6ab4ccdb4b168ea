"""The outbox channel: one complete file for each communication id."""

import asyncio
from email import message_from_bytes
from email.policy import default
from pathlib import Path

import msgspec
import pytest

from dunwell.adapters.channels.outbox.channel import OutboxEmail, OutboxLetter, OutboxSms
from dunwell.contact.sending.channel import Accepted, MessageFile, Permanent, Temporary
from tests.adapters.channel_contract import ChannelContract, ChannelUnderTest
from tests.support.messages import a_message


class TestOutboxEmail(ChannelContract):
    @pytest.fixture
    def channel(self, tmp_path: Path) -> ChannelUnderTest:
        def received() -> list[str]:
            return [_read(path) for path in sorted(tmp_path.rglob("*")) if path.is_file()]

        return ChannelUnderTest(OutboxEmail(tmp_path), received, "ada@example.org, x@example.org")


class TestOutboxSms(ChannelContract):
    @pytest.fixture
    def channel(self, tmp_path: Path) -> ChannelUnderTest:
        def received() -> list[str]:
            return [path.read_text() for path in sorted(tmp_path.rglob("*")) if path.is_file()]

        return ChannelUnderTest(OutboxSms(tmp_path), received, "0151 12345678")


class TestOutboxLetter(ChannelContract):
    @pytest.fixture
    def channel(self, tmp_path: Path) -> ChannelUnderTest:
        def received() -> list[str]:
            records = sorted(tmp_path.rglob("*.json"))
            return [f"{r.with_suffix('.pdf').read_text()}\n{r.read_text()}" for r in records]

        return ChannelUnderTest(OutboxLetter(tmp_path), received, "1\n2\n3\n4\n5\n6\n7")


def _read(path: Path) -> str:
    message = message_from_bytes(path.read_bytes(), policy=default)
    body = message.get_body(("plain",))
    assert body is not None
    names = [part.get_filename("") for part in message.iter_attachments()]
    lines = [f"{name}: {value}" for name, value in message.items()]
    return "\n".join([*lines, "", str(body.get_content()), *names])


def _emails(folder: Path) -> list[Path]:
    return list(folder.rglob("*.eml"))


def _files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


async def test_the_file_is_named_by_merchant_and_communication(tmp_path: Path) -> None:
    await OutboxEmail(tmp_path).send(a_message(merchant_id=7))
    name = "outbox/7/EMAIL/01900000-0000-7000-8000-000000000001.eml"
    assert _files(tmp_path) == [name]


async def test_sending_a_message_again_leaves_its_file_unchanged(tmp_path: Path) -> None:
    adapter = OutboxEmail(tmp_path)
    await adapter.send(a_message())
    (path,) = _emails(tmp_path)
    first = path.read_bytes()
    assert await OutboxEmail(tmp_path).send(a_message()) == Accepted()
    assert path.read_bytes() == first


async def test_concurrent_sends_of_a_message_leave_one_file(tmp_path: Path) -> None:
    adapters = [OutboxEmail(tmp_path) for _ in range(2)]
    sends = [adapter.send(a_message()) for adapter in adapters * 20]
    assert set(await asyncio.gather(*sends)) == {Accepted()}
    assert len(_files(tmp_path)) == 1


async def test_a_removed_folder_is_created_again(tmp_path: Path) -> None:
    adapter = OutboxEmail(tmp_path)
    await adapter.send(a_message())
    (path,) = _emails(tmp_path)
    path.unlink()
    path.parent.rmdir()
    assert await adapter.send(a_message()) == Accepted()
    assert path.is_file()


async def test_a_failed_write_is_a_temporary_failure(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file where the folder should be")
    assert await OutboxEmail(tmp_path).send(a_message()) == Temporary(60)
    assert _files(tmp_path) == ["outbox"]


async def test_an_sms_record_has_its_alphabet_and_number_of_parts(tmp_path: Path) -> None:
    message = a_message(channel="SMS", recipient="+4915112345678", body_text="x" * 160 + "€")
    await OutboxSms(tmp_path).send(message)
    name = "outbox/1/SMS/01900000-0000-7000-8000-000000000001.json"
    assert _files(tmp_path) == [name]
    record = msgspec.json.decode((tmp_path / name).read_bytes())
    assert (record["alphabet"], record["parts"]) == ("GSM-7", 2)
    assert record["text"] == message.body_text


async def test_enclosures_of_a_letter_are_numbered_files_next_to_it(tmp_path: Path) -> None:
    files = (
        MessageFile("../../Rechnung.pdf", "application/pdf", b"invoice"),
        MessageFile("Foto.jpeg", "image/jpeg", b"photo"),
    )
    document = MessageFile("letter.pdf", "application/pdf", b"letter")
    message = a_message(recipient="Ada\nKöln", document=document, attachments=files)
    assert await OutboxLetter(tmp_path).send(message) == Accepted()
    name = "outbox/1/LETTER/01900000-0000-7000-8000-000000000001"
    assert _files(tmp_path) == [f"{name}.1.pdf", f"{name}.2.jpg", f"{name}.json", f"{name}.pdf"]
    assert (tmp_path / f"{name}.1.pdf").read_bytes() == b"invoice"


async def test_a_letter_without_a_document_is_a_permanent_failure(tmp_path: Path) -> None:
    outcome = await OutboxLetter(tmp_path).send(a_message(recipient="Ada\nKöln"))
    assert outcome == Permanent("There is no document to print.")
    assert _files(tmp_path) == []
