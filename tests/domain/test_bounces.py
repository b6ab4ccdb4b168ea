"""Parsing of reports of mail servers."""

from email import message_from_bytes
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.adapters.channels.smtp.return_addresses import build_return_address
from dunwell.adapters.mail.bounce import (
    Bounce,
    MailFailure,
    parse_bounce,
    parse_diagnostic,
    parse_status,
)
from dunwell.adapters.mail.incoming import (
    Envelope,
    MailRequest,
    build_unreadable_mail,
    classify_mail,
    find_return_address,
    parse_mail,
)
from dunwell.cases.replies.reply import NewReply
from dunwell.contact.sending.report import Reference, Report
from dunwell.platform.crypto import KeyRing
from tests.support.bounces import TABLE, a_block, a_plain_mail, a_report

KEYS = KeyRing({1: b"k" * 32})
REFERENCE = Reference(7, UUID("01900000-0000-7000-8000-000000000001"))
_NAMED = {
    "merchant_id": REFERENCE.merchant_id, "communication_id": REFERENCE.communication_id,
}  # fmt: skip
BOUNCE = build_return_address(KEYS, "bounce", "returns.example.com", **_NAMED)  # type: ignore[arg-type]
REPLY = build_return_address(KEYS, "reply", "returns.example.com", **_NAMED)  # type: ignore[arg-type]
FAILED = a_report(a_block("failed", "5.1.1"))


def _read(content: bytes, recipient: str = BOUNCE, sender: str = "") -> Report | NewReply:
    envelope = Envelope("post", sender, recipient, content)
    address = find_return_address(KEYS, envelope)
    read = parse_mail(MailRequest(content, sender))
    return (
        classify_mail(envelope, address, read)
        if read.is_parsed
        else build_unreadable_mail(envelope, address)
    )


@pytest.mark.parametrize("name", TABLE)
def test_reports_of_mail_servers_are_parsed(name: str) -> None:
    content, read = TABLE[name]
    assert parse_bounce(message_from_bytes(content)) == Bounce(*read)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "5.0.0", "5", "x", "192.0.2.5.1.1.7", "version 5.1.1.2"])
def test_a_text_without_a_status_code_has_none(text: str) -> None:
    assert parse_status(text) is None


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("550 5.1.1 unknown", MailFailure("ADDRESS", "5.1.1")),
        ("host [192.0.2.51] said 550", MailFailure("OTHER", "550")),
        ("451 come again", MailFailure("OTHER", "451")),
        ("550 message contains spam", MailFailure("ABOUT_US", "550 refused as unwanted")),
        ("552 mailbox full", MailFailure("OTHER", "552 mailbox full")),
        ("nothing", None),
    ],
)
def test_the_diagnostic_text_is_used_when_the_code_is_unspecific(
    text: str, failure: MailFailure | None
) -> None:
    assert parse_diagnostic(text) == failure


def test_a_report_is_matched_by_the_address_it_was_sent_to() -> None:
    report = _read(FAILED)
    assert isinstance(report, Report)
    assert (report.reference, report.cause, report.state) == (REFERENCE, "ADDRESS", "FAILED")
    assert (report.provider, report.destination) == ("post", "customer.example")
    assert report.happened_at is not None
    assert report.happened_at.isoformat() == "2026-03-02T09:00:00+00:00"


def test_capitals_in_an_address_do_not_matter() -> None:
    report = _read(FAILED, BOUNCE.upper())
    assert isinstance(report, Report)
    assert report.reference == REFERENCE


def test_a_report_to_another_address_is_matched_by_the_returned_message() -> None:
    original = f"Return-Path: <{BOUNCE}>\r\nSubject: Reminder"
    report = _read(a_report(a_block("failed", "5.1.1"), original=original), "catch@all.example")
    assert isinstance(report, Report)
    assert report.reference == REFERENCE


@pytest.mark.parametrize(
    "recipient",
    [
        "bounce@returns.example.com",
        BOUNCE.replace("+a", "+b"),
        BOUNCE[:-30] + "@returns.example.com",
    ],
)
def test_a_report_without_our_reference_is_unmatched(recipient: str) -> None:
    report = _read(FAILED, recipient)
    assert isinstance(report, Report)
    assert (report.reference, report.state) == (None, "FAILED")


def test_added_headers_do_not_change_the_id_of_a_report() -> None:
    first, second = _read(FAILED), _read(b"Received: from x by y\r\n" + FAILED)
    assert first.provider_message_id == second.provider_message_id


def test_an_unreadable_report_counts_as_delayed() -> None:
    report = _read(a_plain_mail("MAILER-DAEMON@x.example", "Hm", "Something went wrong."))
    assert isinstance(report, Report)
    assert (report.state, report.reason, report.cause) == ("DELAYED", "unreadable", "OTHER")


def test_a_reply_of_a_person_is_not_a_report() -> None:
    mail = a_plain_mail("Erika <erika@customer.example>", "Re: Reminder", "I paid last week.")
    for recipient in (REPLY, BOUNCE):
        reply = _read(mail, recipient, "erika@customer.example")
        assert isinstance(reply, NewReply)
        assert (reply.text, reply.reference) == ("I paid last week.", REFERENCE)
        assert not reply.is_automatic


@pytest.mark.parametrize(
    ("sender", "headers"),
    [
        ("erika@customer.example", {"Auto-Submitted": "auto-replied (vacation)"}),
        ("erika@customer.example", {"Precedence": "bulk"}),
        ("erika@customer.example", {"X-Autoreply": "yes"}),
        ("", {}),
    ],
)
def test_an_automatic_reply_is_recognised(sender: str, headers: dict[str, str]) -> None:
    mail = a_plain_mail("erika@customer.example", "Away", "I am away until Monday.", **headers)
    reply = _read(mail, REPLY, sender)
    assert isinstance(reply, NewReply)
    assert reply.is_automatic


def test_a_report_sent_to_the_reply_address_is_a_report() -> None:
    assert isinstance(_read(FAILED, REPLY), Report)


@given(st.binary(max_size=600))
def test_any_email_is_parsed_without_a_crash(content: bytes) -> None:
    assert isinstance(_read(content), Report | NewReply)


@given(st.sampled_from([content for content, _ in TABLE.values()]), st.data())
def test_a_damaged_report_is_parsed_without_a_crash(content: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(content) - 1))
    damage = data.draw(st.binary(max_size=40))
    assert isinstance(_read(content[:at] + damage + content[at + 10 :]), Report | NewReply)


_NESTED = "".join(
    f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n" for n in range(3_000)
)


@pytest.mark.parametrize(
    "content",
    [
        f"From: a@b.example\r\n{_NESTED}".encode(),
        b"Content-Type: message/rfc822\r\n\r\n" * 3_000,
        b"Subject: =?utf-8?b?A?=\r\n\r\nI paid.",
        b"Content-Type: text/html\r\n\r\n<p>I paid.</p><![x",
        a_report("Final-Recipient: rfc822; a@b.example\r\nAction: \x0b\r\nStatus: 5.1.1"),
    ],
)
def test_an_email_that_cannot_be_parsed_is_kept(content: bytes) -> None:
    """An e-mail that could not be processed would block a mailbox for ever."""
    report = _read(content)
    assert isinstance(report, Report)
    assert (report.reference, report.state) == (REFERENCE, "DELAYED")
    reply = _read(content, REPLY, "erika@customer.example")
    assert isinstance(reply, NewReply)
    assert (reply.reference, reply.raw) == (REFERENCE, content)
    assert _read(content, REPLY, "erika@customer.example") == reply
