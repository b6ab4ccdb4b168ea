"""Reads what is to be done to a selection of claims, and which claims that are: those that were
ticked, or all that the list's filters leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.interfaces.portal.web.paging import read_day
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.operations.jobs.job import MOST_ROWS, Action, Archive, Assign, Pause, Resume
from dunwell.platform.text.texts import is_line

ACTIONS = ("pause", "resume", "assign", "archive")
NAMES = ("until", "reason", "workflow_id")
_PAGE, _MOST_PAGES = 1_000, 60


@dataclass(frozen=True, slots=True)
class Asked:
    """action: None: `faults` say why not."""

    name: str
    action: Action | None
    values: Mapping[str, str]
    faults: Sequence[str]


def read_action(fields: FormFields, now: datetime, timezone: str) -> Asked:
    name = fields["action"] if fields["action"] in ACTIONS else "pause"
    values, faults = {each: fields.text(each) for each in NAMES}, list[str]()
    if name == "pause":
        until = _read_until(values["until"], timezone, faults)
        if until is not None and until <= now:
            faults.append("PAST")
        if not is_line(values["reason"]):
            faults.append("LINE")
        action: Action | None = Pause(until, values["reason"] or None)
    elif name == "assign":
        workflow_id = _read_id(values["workflow_id"])
        if workflow_id is None:
            faults.append("WORKFLOW")
        action = Assign(workflow_id) if workflow_id else None
    else:
        action = Resume() if name == "resume" else Archive()
    return Asked(name, None if faults else action, values, faults)


def read_ticked(fields: FormFields) -> list[int]:
    given = [each for each in fields.all("claim") if each.isascii() and each.isdigit()]
    return list(dict.fromkeys(int(each) for each in given if len(each) <= 18))


async def select_all(work: Work, wanted: ClaimFilter) -> list[int] | None:
    """The ids of all that the filters leave, beyond what a job takes not all of them. None: they
    leave few among too many to look at."""
    work.need(Right.CHANGE_CLAIMS)
    claim_ids: list[int] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        found = await list_claims(work, limit=_PAGE, cursor=cursor, wanted=wanted)
        claim_ids += [each.claim_id for each in found.items]
        cursor = found.next_cursor
        if cursor is None or len(claim_ids) > MOST_ROWS:
            return claim_ids
    return None


def _read_until(text: str, timezone: str, faults: list[str]) -> datetime | None:
    if not text:
        return None
    day = read_day(text)
    if day is None:
        faults.append("DAY")
        return None
    return datetime.combine(day, time(), ZoneInfo(timezone)).astimezone(UTC)


def _read_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
