"""A claim's statement of account at the end of a day."""

from datetime import UTC, date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.cases.payments.statement_of_account import AccountHistory, build_statement_of_account
from dunwell.cases.payments.store import StatementPayment, StatementReturn
from dunwell.core.claims.balance import OwedItem

_ZONE = ZoneInfo("Europe/Berlin")
_BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
_ITEMS = [
    OwedItem(1, 0, "PRIMARY", 10000, item_on=date(2026, 1, 1)),
    OwedItem(2, 1, "DUNNING_FEE", 240, item_on=date(2026, 3, 9)),
]
_PAID = [
    # Late evening in UTC is already the next day in Berlin.
    StatementPayment(UUID(int=1), 3000, datetime(2026, 3, 4, 23, 30, tzinfo=UTC), "bank-1"),
]  # fmt: skip
_RETURNED = [
    StatementReturn(UUID(int=1), "REVERSED", 3000, datetime(2026, 3, 20, 8, tzinfo=UTC), "bank-1"),
]
_HISTORY = AccountHistory(_PAID, _RETURNED)


def _owed(day: date) -> int:
    account = build_statement_of_account(_ITEMS, _HISTORY, created_at=_BEGAN, zone=_ZONE, on=day)
    return account.balance_cents


def test_a_statement_of_account_has_the_entries_up_to_its_day() -> None:
    days = [date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 4), date(2026, 3, 5)]
    later = [date(2026, 3, 9), date(2026, 3, 19), date(2026, 3, 20)]

    assert [_owed(day) for day in days] == [0, 10000, 10000, 7000]
    assert [_owed(day) for day in later] == [7240, 7240, 10240]


def test_each_entry_has_the_balance_after_it() -> None:
    account = build_statement_of_account(
        _ITEMS, _HISTORY, created_at=_BEGAN, zone=_ZONE, on=date(2026, 3, 31)
    )

    assert [(each.kind, each.balance_cents) for each in account.entries] == [
        ("PRIMARY", 10000), ("PAYMENT", 7000), ("DUNNING_FEE", 7240), ("REVERSAL", 10240),
    ]  # fmt: skip
    assert (account.demanded_cents, account.paid_cents) == (10240, 0)
