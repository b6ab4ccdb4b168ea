"""A mailbox for bounces, read by IMAP from a real Dovecot."""

import itertools
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from dunwell.accounts.installation.delivery_providers import ReturnMailbox
from dunwell.adapters.channels.smtp.return_addresses import build_return_address
from dunwell.adapters.mail.mailboxes import MAX_BYTES, MailboxUnavailable, fetch_new_mail
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.servers.dovecot import Dovecot
from tests.support.bounces import a_block, a_plain_mail, a_report
from tests.support.children import MAIL_READER

_users = (f"returns{number}" for number in itertools.count())
_SAVED = "SELECT state, reason, communication_id FROM delivery_reports ORDER BY received_at"
_MESSAGE = UUID("01900000-0000-7000-8000-000000000001")
_REPORT = a_report(a_block("failed", "5.1.1"))


@pytest.fixture
def user() -> str:
    """The user of a mailbox for this test only."""
    return next(_users)


def a_mailbox(dovecot: Dovecot, user: str, **changes: object) -> ReturnMailbox:
    document = {
        "server": f"127.0.0.1:{dovecot.imap_port}", "encryption": "NONE",
        "credentials": {"user": user, "passwordFile": "p"},
    }  # fmt: skip
    return msgspec.convert({**document, **changes}, ReturnMailbox)


def bounce(resources: Resources) -> str:
    return build_return_address(
        resources.keys, "bounce", "returns.example.com", merchant_id=7, communication_id=_MESSAGE
    )


async def saved(resources: Resources) -> list[tuple[object, ...]]:
    async with resources.database.connection() as connection:
        return [tuple(row) for row in await connection.fetch(_SAVED)]


async def test_new_mail_is_fetched_once(resources: Resources, dovecot: Dovecot, user: str) -> None:
    mailbox = a_mailbox(dovecot, user)
    dovecot.deliver(user, _REPORT, bounce(resources))
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 1
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 0
    assert await saved(resources) == [("FAILED", "5.1.1", _MESSAGE)]
    dovecot.deliver(user, a_plain_mail("x@y.example", "Hello", "Nothing of yours."), "x@y.example")
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 1
    assert (await saved(resources))[1:] == [("DELAYED", "unreadable", None)]


async def test_reading_an_empty_mailbox_is_recorded(
    resources: Resources, clock: MovableClock, dovecot: Dovecot, user: str
) -> None:
    """Otherwise a mailbox that `dunwell mail` checks could not be told from one that it ignores."""
    mailbox = a_mailbox(dovecot, user)
    dovecot.deliver(user, _REPORT, bounce(resources))
    for taken in (1, 0, 0):
        clock.advance(timedelta(hours=1))
        assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == taken
        async with resources.database.connection() as connection:
            [row] = await connection.fetch("SELECT read_at, last_uid FROM mailbox_positions")
        assert tuple(row) == (clock.now(), 1)


async def test_a_mail_too_complex_to_parse_does_not_block_others(
    resources: Resources, dovecot: Dovecot, user: str
) -> None:
    mailbox = a_mailbox(dovecot, user)
    dovecot.deliver(user, b"Content-Type: message/rfc822\r\n\r\n" * 3_000, bounce(resources))
    dovecot.deliver(user, _REPORT, bounce(resources))
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 2
    assert ("FAILED", "5.1.1", _MESSAGE) in await saved(resources)


async def test_a_mail_that_crashes_its_parser_is_kept_as_unreadable(
    resources: Resources, dovecot: Dovecot, user: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log names its number in the mailbox."""
    mailbox = a_mailbox(dovecot, user)
    nested = ("(" * 60 + "\r\n ") * 100
    dovecot.deliver(user, b"Subject: x\r\n\r\nx", f"{nested}x")
    dovecot.deliver(user, _REPORT, bounce(resources))
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 2
    assert ("FAILED", "5.1.1", _MESSAGE) in await saved(resources)
    assert ("DELAYED", "unreadable", None) in await saved(resources)
    assert "mail not processed, kept as unreadable" in capsys.readouterr().out
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 0


async def test_the_beginning_of_an_oversized_mail_is_kept_as_unreadable(
    resources: Resources, dovecot: Dovecot, user: str
) -> None:
    mailbox = a_mailbox(dovecot, user)
    large = b"Subject: x\r\n\r\n" + (b"z" * 76 + b"\r\n") * (MAX_BYTES // 78 + 1)
    dovecot.deliver(user, large, bounce(resources))
    dovecot.deliver(user, _REPORT, bounce(resources))
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 2
    assert ("DELAYED", "unreadable", _MESSAGE) in await saved(resources)
    assert ("FAILED", "5.1.1", _MESSAGE) in await saved(resources)


async def test_a_recreated_mailbox_is_read_from_its_beginning(
    resources: Resources, dovecot: Dovecot, user: str
) -> None:
    mailbox = a_mailbox(dovecot, user)
    for number in range(3):
        content = _REPORT.replace(b"report-1", b"report-%d" % number)
        dovecot.deliver(user, content, bounce(resources))
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 3
    dovecot.forget(user)
    dovecot.deliver(user, _REPORT.replace(b"report-1", b"report-9"), bounce(resources))
    assert await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right") == 1
    assert len(await saved(resources)) == 4


async def test_a_wrong_mailbox_password_fails_without_being_disclosed(
    resources: Resources, dovecot: Dovecot, user: str
) -> None:
    with pytest.raises(MailboxUnavailable) as away:
        await fetch_new_mail(resources, MAIL_READER, "post", a_mailbox(dovecot, user), "wrong")
    assert "wrong" not in str(away.value)
    mailbox = a_mailbox(dovecot, user, server="127.0.0.1:1")
    with pytest.raises(MailboxUnavailable):
        await fetch_new_mail(resources, MAIL_READER, "post", mailbox, "right")
