"""Record matches, and compute when the money of a transaction was paid."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.matches.store import BankMatch, insert_matches

_NOON = time(12)


async def record_matches(work: Work, matches: Sequence[BankMatch]) -> None:
    """Record matches as made by the actor of `work`."""
    work.require(Right.RECORD_MONEY)
    actor = (work.actor.kind, work.actor.actor_id)
    await insert_matches(work.tx, work.merchant_id, matches, actor=actor, now=work.now)


def compute_paid_at(work: Work, booked_on: date) -> datetime:
    """Return noon of the booking day in the merchant's time zone, or now if that is still to
    come."""
    zone = ZoneInfo(work.merchant.configuration.timezone)
    return min(datetime.combine(booked_on, _NOON, zone).astimezone(UTC), work.now)
