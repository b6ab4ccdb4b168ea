"""Received e-mails are parsed in a confined child within limits, and none of them is lost."""

import resource
from collections.abc import AsyncIterator, Callable
from uuid import UUID

import pytest

from dunwell.adapters.channels.smtp.return_addresses import build_return_address
from dunwell.adapters.mail.incoming import MAX_HEADER_BYTES, MAX_LINES, MAX_PART_LINES, Envelope
from dunwell.adapters.mail.receive_mail import MailParser
from dunwell.cases.replies.reply import NewReply
from dunwell.contact.sending.report import Report
from dunwell.platform.crypto import KeyRing
from tests.support.children import end_all, find_children

_KEYS = KeyRing({1: b"k" * 32})
_REPLY = build_return_address(
    _KEYS, "reply", "returns.example.com", merchant_id=7, communication_id=UUID(int=1)
)
_MOST = 10 * 1024 * 1024
_HEAD = b"From: a@example.com\r\nSubject: Hello\r\nMessage-ID: <1@x>\r\n"


def _fill(head: bytes, piece: bytes) -> bytes:
    return head + piece * ((_MOST - len(head)) // len(piece))


_MIXED = _HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
_HOSTILE: dict[str, Callable[[], bytes]] = {
    "parts": lambda: _fill(_MIXED, b"--b\r\n\r\nx\r\n"),
    "blank lines": lambda: _fill(_HEAD + b"\r\n", b"\r\n"),
    "headers": lambda: _fill(_HEAD, b"A: b\r\n") + b"\r\nx",
    "received": lambda: _fill(b"", b"Received: from a by b;\r\n") + _HEAD + b"\r\nx",
    "short lines": lambda: _fill(_HEAD + b"\r\n", b"hello my friend\r\n"),
    "one header": lambda: _fill(_HEAD + b"Subject: ", b"=?utf-8?q?a?= ") + b"\r\n\r\nx",
    "file names": lambda: _fill(
        _MIXED, b"--b\r\nContent-Disposition: attachment; filename*=utf-8''%41\r\n\r\n"
    ),
}


@pytest.fixture
async def reader() -> AsyncIterator[MailParser]:
    await end_all("mail_child")
    reader = MailParser()
    yield reader
    await reader.close()


def _envelope(content: bytes, recipient: str = _REPLY) -> Envelope:
    return Envelope("post", "a@example.com", recipient, content)


def _measure_ended_children() -> float:
    """Return the processor time of ended children."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


@pytest.mark.parametrize("name", _HOSTILE)
async def test_a_hostile_mail_is_stored_unparsed_at_low_cost(reader: MailParser, name: str) -> None:
    content, ended = _HOSTILE[name](), _measure_ended_children()
    read = await reader.classify(_KEYS, _envelope(content))
    assert isinstance(read, NewReply)
    assert (read.text, read.raw) == ("", content)
    used = sum(child.cpu_times().user for child in find_children("mail_child"))
    assert used + _measure_ended_children() - ended < 2
    stranger = await reader.classify(_KEYS, _envelope(content, "x@returns.example.com"))
    assert isinstance(stranger, Report)
    assert (stranger.state, stranger.reason) == ("DELAYED", "unreadable")


async def test_an_ordinary_mail_of_the_largest_size_is_read(reader: MailParser) -> None:
    photo = b"--b\r\nContent-Disposition: attachment; filename=photo.jpg\r\n\r\n"
    content = _fill(_MIXED + b"--b\r\n\r\nI paid.\r\n" + photo, b"z" * 76 + b"\r\n")
    read = await reader.classify(_KEYS, _envelope(content + b"--b--\r\n"))
    assert isinstance(read, NewReply)
    assert (read.text, read.subject, list(read.file_names)) == ("I paid.", "Hello", ["photo.jpg"])


async def test_a_mail_that_takes_too_long_is_stored_without_its_text() -> None:
    slow = MailParser(timeout_seconds=0.001)
    read = await slow.classify(_KEYS, _envelope(_HEAD + b"\r\nhi"))
    assert isinstance(read, NewReply)
    assert read.text == ""
    await slow.close()


async def test_an_incomplete_mail_is_stored_unparsed(reader: MailParser) -> None:
    cut = Envelope("post", "a@example.com", _REPLY, _HEAD + b"\r\nhi", is_cut=True)
    read = await reader.classify(_KEYS, cut)
    assert isinstance(read, NewReply)
    assert read.text == ""


async def test_unusual_character_sets_are_read_in_the_confined_child(reader: MailParser) -> None:
    for charset, text in (("koi8-r", "привет"), ("iso-2022-jp", "こんにちは"), ("cp1252", "Grüße")):
        head = _HEAD + f"Content-Type: text/plain; charset={charset}\r\n\r\n".encode()
        read = await reader.classify(_KEYS, _envelope(head + text.encode(charset)))
        assert isinstance(read, NewReply)
        assert read.text == text


def test_the_limits_of_a_mail_have_their_documented_values() -> None:
    assert (MAX_LINES, MAX_PART_LINES, MAX_HEADER_BYTES) == (200_000, 1_000, 256 * 1024)
