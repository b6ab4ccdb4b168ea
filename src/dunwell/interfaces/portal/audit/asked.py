"""The filters of the audit log as they stand in its address, and what they mean."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from dunwell.accounts.installation.audit_log import AuditFilter
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.store import list_users
from dunwell.accounts.users.user import fold_email
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.interfaces.portal.audit.views import AuditFilters
from dunwell.interfaces.portal.web.paging import read_day
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.web.form_fields import FormFields

_MOST_TEXT = 200
_MOST_DIGITS = 18
_NO_CLAIM = "claim:0"


def read_audit_filters(given: PortalRequest | FormFields) -> AuditFilters:
    find = given.ask if isinstance(given, PortalRequest) else given.text
    return AuditFilters(
        **{name: find(name)[:_MOST_TEXT] for name in AuditFilters.__struct_fields__}
    )


async def understand(
    work: Work, filters: AuditFilters, timezone: str
) -> tuple[AuditFilter, list[tuple[str, str]]]:
    """What they narrow the log to, and which of them mean nothing. A claim that is not there finds
    no row."""
    work.need(Right.AUDIT)
    faults = list[tuple[str, str]]()
    zone = ZoneInfo(timezone)

    def read_start(name: str, text: str, days: int) -> datetime | None:
        day = read_day(text) if text else None
        if text and day is None:
            faults.append((name, "DAY"))
        if day is None:
            return None
        return datetime.combine(day + timedelta(days=days), time(), zone).astimezone(UTC)

    kind, actor_id = await _find_actor(work, filters)
    subject = await _find_subject(work, filters.claim) if filters.claim else None
    if subject == _NO_CLAIM:
        faults.append(("claim", "ABSENT"))
    wanted = AuditFilter(
        since=read_start("since", filters.since, 0),
        until=read_start("until", filters.until, 1),
        actor_kind=kind,
        actor_id=actor_id,
        action=filters.action or None,
        subject=subject,
    )
    return wanted, faults


async def _find_actor(work: Work, filters: AuditFilters) -> tuple[str | None, str | None]:
    """The kind and the id: of a person by name or e-mail address, else as it was given."""
    kind = filters.kind if filters.kind in list(ActorKind) else None
    if not filters.who:
        return kind, None
    wanted = fold_email(filters.who)
    for user in await list_users(work.tx):
        if wanted in (fold_email(user.name), fold_email(user.email), str(user.user_id)):
            return str(ActorKind.USER), str(user.user_id)
    return kind, filters.who


async def _find_subject(work: Work, given: str) -> str:
    """By its reference first: a number can be one."""
    found = await list_claims(work, limit=1, wanted=ClaimFilter(reference_number=given))
    if found.items:
        return f"claim:{found.items[0].claim_id}"
    is_number = given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS
    return f"claim:{int(given)}" if is_number else _NO_CLAIM
