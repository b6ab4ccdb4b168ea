"""The outbox channel: one file per communication id, whole or not at all."""

import asyncio
from email import message_from_bytes
from email.policy import default
from pathlib import Path

import pytest

from dunwell.adapters.channels.outbox.adapter import OutboxEmail
from dunwell.messages.channel import Accepted, Temporary
from tests.adapters.channel_contract import ChannelContract, ChannelUnderTest
from tests.support.messages import a_message


class TestOutbox(ChannelContract):
    @pytest.fixture
    def channel(self, tmp_path: Path) -> ChannelUnderTest:
        def received() -> list[str]:
            return [_read(path) for path in sorted(tmp_path.rglob("*")) if path.is_file()]

        return ChannelUnderTest(OutboxEmail(tmp_path), received, "ada@example.org, x@example.org")


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


async def test_the_same_message_sent_again_is_the_same_bytes(tmp_path: Path) -> None:
    adapter = OutboxEmail(tmp_path)
    await adapter.send(a_message())
    (path,) = _emails(tmp_path)
    first = path.read_bytes()
    assert await OutboxEmail(tmp_path).send(a_message()) == Accepted()
    assert path.read_bytes() == first


async def test_many_at_once_leave_one_whole_file_each_and_no_draft(tmp_path: Path) -> None:
    adapters = [OutboxEmail(tmp_path) for _ in range(2)]
    sends = [adapter.send(a_message()) for adapter in adapters * 20]
    assert set(await asyncio.gather(*sends)) == {Accepted()}
    assert len(_files(tmp_path)) == 1


async def test_a_folder_removed_meanwhile_is_made_again(tmp_path: Path) -> None:
    adapter = OutboxEmail(tmp_path)
    await adapter.send(a_message())
    (path,) = _emails(tmp_path)
    path.unlink()
    path.parent.rmdir()
    assert await adapter.send(a_message()) == Accepted()
    assert path.is_file()


async def test_a_disk_that_takes_nothing_is_tried_again_later(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file where the folder should be")
    assert await OutboxEmail(tmp_path).send(a_message()) == Temporary(60)
    assert _files(tmp_path) == ["outbox"]
