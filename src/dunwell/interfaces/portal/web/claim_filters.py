"""The filters of the list of claims, as URLs and forms have them, and what they select."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.states import HoldKind, Status
from dunwell.interfaces.web.amounts import parse_amount

_MAX_TEXT_LENGTH = 200
_VIEW_PARAMETERS = frozenset({"sort", "columns"})
_Value = TypeVar("_Value", bound=StrEnum)


class ClaimListFilters(msgspec.Struct, frozen=True, gc=False):
    """The filters as the URL has them. They may be invalid."""

    q: str = ""
    status: str = ""
    hold: str = ""
    workflow: str = ""
    # The limits of the outstanding amount.
    least: str = ""
    most: str = ""
    # The days on which the next step is due.
    due_from: str = ""
    due_to: str = ""
    # The sorting and the columns.
    sort: str = ""
    columns: str = ""

    @property
    def query(self) -> dict[str, str]:
        """Return the parameters that are set."""
        return {name: text for name, text in msgspec.structs.asdict(self).items() if text}

    @property
    def selection(self) -> dict[str, str]:
        """Return the parameters that select claims."""
        return {name: text for name, text in self.query.items() if name not in _VIEW_PARAMETERS}

    @property
    def view_parameters(self) -> dict[str, str]:
        return {name: text for name, text in self.query.items() if name in _VIEW_PARAMETERS}


def get_filters(get_text: Callable[[str], str]) -> ClaimListFilters:
    """Return the filters. `get_text` returns the value of a parameter."""
    return ClaimListFilters(
        **{name: get_text(name)[:_MAX_TEXT_LENGTH] for name in ClaimListFilters.__struct_fields__}
    )


def parse_claim_filters(
    filters: ClaimListFilters, merchant: Merchant, language: str
) -> tuple[ClaimFilter, list[tuple[str, str]]]:
    """Return what the filters select, and the faults of the amounts and days by field. Other
    invalid values are ignored."""
    faults = list[tuple[str, str]]()
    zone, currency = ZoneInfo(merchant.configuration.timezone), merchant.configuration.currency

    def parse_cents(name: str, text: str) -> int | None:
        cents = parse_amount(text, currency, language) if text else None
        if text and cents is None:
            faults.append((name, "AMOUNT"))
        return cents

    def parse_start(name: str, text: str, days: int) -> datetime | None:
        try:
            day = date.fromisoformat(text) if text else None
        except ValueError:
            faults.append((name, "DAY"))
            return None
        if day is None or not 1900 < day.year < 9000:
            return None
        return datetime.combine(day + timedelta(days=days), time(), zone).astimezone(UTC)

    wanted = ClaimFilter(
        status=_parse_member(Status, filters.status),
        hold=_parse_member(HoldKind, filters.hold),
        workflow_id=_parse_uuid(filters.workflow),
        min_cents=parse_cents("least", filters.least),
        max_cents=parse_cents("most", filters.most),
        next_step_since=parse_start("due_from", filters.due_from, 0),
        next_step_until=parse_start("due_to", filters.due_to, 1),
    )
    return wanted, faults


def _parse_member(kind: type[_Value], text: str) -> _Value | None:
    return next((each for each in kind if each == text), None)


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
