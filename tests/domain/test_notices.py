"""The limits on notices, how a notice is settled, and the secrets in notices."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from dunwell.contact.messages.claim_links import TOKEN_MASK, derive_token
from dunwell.contact.notices.notice import (
    MAX_PER_HOUR,
    DueNotice,
    NoticeKind,
    NoticeLimitReached,
    NoticeSettlement,
    decide_address_limit,
    decide_limit,
    decide_no_call,
    decide_settlement,
    respects_suppression,
)
from dunwell.contact.notices.notice_codes import (
    NOTICE_CODE_MASK,
    derive_notice_code,
    derive_notice_token,
    is_notice_code,
    unmask_notice,
)
from dunwell.contact.sending.channel import Accepted, Outcome, Permanent, Temporary, Unanswered
from dunwell.platform.crypto import KeyRing

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
KEYS = KeyRing({1: b"k" * 32})
NOTICE_ID = UUID(int=7)
MINUTE = timedelta(minutes=1)


def test_five_notices_of_a_kind_are_allowed_in_an_hour() -> None:
    asked = [NOW - minutes * MINUTE for minutes in (59, 40, 30, 20)]

    assert MAX_PER_HOUR == 5
    assert decide_limit(asked, NOW) is None
    assert decide_limit([*asked, NOW], NOW) == NoticeLimitReached(NOW + MINUTE)


def test_a_request_an_hour_ago_does_not_count() -> None:
    assert decide_limit([NOW - 60 * MINUTE] * 5, NOW) is None


def test_the_next_notice_is_allowed_when_enough_have_expired() -> None:
    asked = [NOW - minutes * MINUTE for minutes in (1, 2, 3, 4, 5, 6, 7)]

    again = decide_limit(asked, NOW)

    assert again == NoticeLimitReached(NOW + 55 * MINUTE)
    assert decide_limit(asked, NOW + 55 * MINUTE) is None


def test_an_address_gets_at_most_ten_notices_an_hour_and_twenty_a_day() -> None:
    hour = [NOW - minutes * MINUTE for minutes in range(1, 11)]
    day = [NOW - hours * 60 * MINUTE for hours in range(2, 22)]

    assert decide_address_limit(hour[1:] + day[:10], NOW) is None
    assert decide_address_limit(hour, NOW) == NoticeLimitReached(NOW + 50 * MINUTE)
    assert decide_address_limit(day, NOW) == NoticeLimitReached(NOW + 3 * 60 * MINUTE)
    assert decide_address_limit(hour + day, NOW) == NoticeLimitReached(NOW + 13 * 60 * MINUTE)


@pytest.mark.parametrize(
    ("reason", "sent"),
    [
        ("BOUNCE", {NoticeKind.CODE, NoticeKind.LINK, NoticeKind.CHANGE_CODE}),
        ("WRONG_PERSON", set[NoticeKind]()),
        ("MERCHANT", {NoticeKind.CODE, NoticeKind.LINK, NoticeKind.CHANGE_CODE}),
        (
            "DEBTOR",
            {NoticeKind.CODE, NoticeKind.LINK, NoticeKind.CHANGE_CODE, NoticeKind.CHANGE_NOTICE},
        ),
    ],
)
def test_a_suppressed_address_still_gets_requested_notices_and_change_notices(
    reason: str, sent: set[NoticeKind]
) -> None:
    assert {kind for kind in NoticeKind if not respects_suppression(kind, reason)} == sent


@pytest.mark.parametrize(
    ("answer", "attempts", "expected"),
    [
        (Accepted(), 1, NoticeSettlement("ACCEPTED")),
        (Permanent("no such mailbox"), 1, NoticeSettlement("FAILED", failure="no such mailbox")),
        (Temporary(0), 1, NoticeSettlement("PLANNED", NOW + timedelta(seconds=5))),
        (Temporary(0), 3, NoticeSettlement("PLANNED", NOW + timedelta(seconds=20))),
        (Temporary(60), 1, NoticeSettlement("PLANNED", NOW + MINUTE)),
        (Temporary(0), 8, NoticeSettlement("FAILED", failure="not accepted in time")),
        (Temporary(600), 1, NoticeSettlement("FAILED", failure="not accepted in time")),
        (Unanswered(is_repeatable=True), 1, NoticeSettlement("HANDED_OVER", NOW + 5 * MINUTE / 60)),
        (Unanswered(is_repeatable=True), 8, NoticeSettlement("UNKNOWN")),
        (Unanswered(is_repeatable=False), 1, NoticeSettlement("UNKNOWN")),
    ],
)
def test_each_answer_of_a_channel_has_its_settlement(
    answer: Outcome | Unanswered, attempts: int, expected: NoticeSettlement
) -> None:
    expires_at = NOW + 10 * MINUTE
    assert decide_settlement(answer, attempts=attempts, expires_at=expires_at, now=NOW) == expected


def test_a_notice_is_retried_after_at_most_ten_minutes() -> None:
    settlement = decide_settlement(Temporary(0), attempts=99, expires_at=NOW + 99 * MINUTE, now=NOW)
    assert settlement.due_at == NOW + 10 * MINUTE


@pytest.mark.parametrize(
    ("was_handed_over", "is_suppressed", "is_repeatable", "minutes", "expected"),
    [
        (False, False, True, 1, None),
        (False, False, False, 1, None),
        (True, False, True, 1, None),
        (True, False, False, 1, NoticeSettlement("UNKNOWN")),
        (True, True, True, 1, NoticeSettlement("UNKNOWN")),
        (True, False, True, 0, NoticeSettlement("UNKNOWN")),
        (True, False, None, 1, NoticeSettlement("UNKNOWN")),
        (False, True, True, 1, NoticeSettlement("FAILED", failure="suppressed")),
        (False, False, True, 0, NoticeSettlement("FAILED", failure="not accepted in time")),
        (
            False,
            False,
            None,
            1,
            NoticeSettlement("FAILED", failure="the merchant does not use this channel"),
        ),
    ],
)
def test_each_reason_not_to_call_a_channel_is_decided(
    was_handed_over: bool, is_suppressed: bool, is_repeatable: bool | None, minutes: int,
    expected: NoticeSettlement | None,
) -> None:  # fmt: skip
    expires_at = NOW + minutes * MINUTE
    notice = DueNotice(was_handed_over, is_suppressed, is_repeatable, expires_at)
    assert decide_no_call(notice, NOW) == expected


def test_a_code_has_six_evenly_distributed_digits() -> None:
    codes = [derive_notice_code(KEYS, UUID(int=number)) for number in range(10_000)]

    assert all(len(code) == 6 and code.isdecimal() and code.isascii() for code in codes)
    for place in range(6):
        counts = Counter(code[place] for code in codes)
        # A thousand of each digit are expected; four standard deviations are 120.
        assert all(880 < counts[digit] < 1120 for digit in "0123456789")


def test_codes_and_tokens_depend_on_the_key_and_the_notice() -> None:
    other = KeyRing({1: b"x" * 32})
    assert derive_notice_code(KEYS, NOTICE_ID) != derive_notice_code(other, NOTICE_ID)
    assert derive_notice_token(KEYS, NOTICE_ID) != derive_notice_token(other, NOTICE_ID)
    assert derive_notice_token(KEYS, NOTICE_ID) != derive_notice_token(KEYS, UUID(int=8))
    assert derive_notice_token(KEYS, NOTICE_ID) != derive_token(KEYS, NOTICE_ID)


def test_a_code_is_recognised_in_any_grouping() -> None:
    code = derive_notice_code(KEYS, NOTICE_ID)
    wrong = f"{(int(code) + 1) % 10**6:06d}"

    for typed in (code, f" {code[:3]} {code[3:]}\n", f"{code[:3]}-{code[3:]}"):
        assert is_notice_code(KEYS, NOTICE_ID, typed)
    for typed in ("", wrong, code[:5], f"{code}0", "äöü", "\x00" * 6, "\u0661" * 6):
        assert not is_notice_code(KEYS, NOTICE_ID, typed)


def test_a_notice_reveals_only_its_own_secret() -> None:
    code, token = derive_notice_code(KEYS, NOTICE_ID), derive_notice_token(KEYS, NOTICE_ID)
    text = f"{NOTICE_CODE_MASK} {TOKEN_MASK}"

    assert (len(NOTICE_CODE_MASK), len(TOKEN_MASK)) == (len(code), len(token))
    assert unmask_notice(KEYS, NoticeKind.CODE, NOTICE_ID, text) == f"{code} {TOKEN_MASK}"
    assert unmask_notice(KEYS, NoticeKind.CHANGE_CODE, NOTICE_ID, text) == f"{code} {TOKEN_MASK}"
    for kind in (NoticeKind.LINK, NoticeKind.ANSWER, NoticeKind.REMINDER, NoticeKind.CONFIRMATION):
        assert unmask_notice(KEYS, kind, NOTICE_ID, text) == f"{NOTICE_CODE_MASK} {token}"
    for kind in (NoticeKind.RECEIPT, NoticeKind.CHANGE_NOTICE):
        assert unmask_notice(KEYS, kind, NOTICE_ID, text) == text
