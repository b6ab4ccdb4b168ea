"""The audit log of a merchant: filtered, page by page, its seals checked on request, exported as
CSV by a background job.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from starlette.responses import Response

from dunwell.accounts.installation.audit_log import AuditEntry, AuditFilter
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.audit_fields import ShownField, list_shown_fields, redact
from dunwell.accounts.merchants.audit_log import list_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.store import list_users
from dunwell.accounts.users.user import fold_email
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import parse_day
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.operations.claim_status.store import load_user_names
from dunwell.operations.jobs.job import Export, ExportedList
from dunwell.operations.jobs.jobs import start_export
from dunwell.operations.seals.seals import SealRangeVerdict, verify_seal_range
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import render_instant


class AuditFilters(msgspec.Struct, frozen=True, gc=False):
    """The filters as the URL has them. They may be invalid."""

    since: str = ""
    until: str = ""
    # The kind of the actor: USER, CREDENTIAL, DEBTOR, SYSTEM or OPERATOR.
    kind: str = ""
    # The name or e-mail address of a user, or the client id of a credential.
    who: str = ""
    action: str = ""
    # A claim's number or reference.
    claim: str = ""

    @property
    def query(self) -> dict[str, str]:
        """Return the filters that are set."""
        return {name: text for name, text in msgspec.structs.asdict(self).items() if text}


class MerchantAuditRow(msgspec.Struct, frozen=True, gc=False):
    audit_id: UUID
    at: datetime
    actor_kind: str
    # The name of a user or the client id of a credential, "" for other actors.
    actor: str
    actor_id: str
    action: str
    subject: str
    # None if the row does not concern a claim.
    claim_id: int | None
    fields: Sequence[ShownField]
    # The other values of the row, masked.
    details: Mapping[str, Any]
    interface: str
    network: str
    # The number of the seal that covers the row, None until it is sealed (a few seconds).
    seal: int | None


class AuditPage(Page, frozen=True):
    template: ClassVar[str] = "audit.html"
    area: ClassVar[str] = "audit"

    filters: AuditFilters
    # The filters that are not valid, with the code of the fault.
    faults: Sequence[tuple[str, str]]
    rows: Sequence[MerchantAuditRow]
    after: str
    next_cursor: str | None
    # The first and the last seal of the rows shown, None if no row is sealed yet.
    span: tuple[int, int] | None
    # The number of rows shown that are not sealed yet.
    unsealed: int
    verdict: SealRangeVerdict | None


_MAX_TEXT = 200
_MAX_DIGITS = 18
_NO_CLAIM = "claim:0"


def parse_audit_filters(given: PortalRequest | FormFields) -> AuditFilters:
    get_text = given.get_parameter if isinstance(given, PortalRequest) else given.text
    return AuditFilters(
        **{name: get_text(name)[:_MAX_TEXT] for name in AuditFilters.__struct_fields__}
    )


async def build_audit_filter(
    work: Work, filters: AuditFilters, timezone: str
) -> tuple[AuditFilter, list[tuple[str, str]]]:
    """Return the filter, and the names of the fields that are not valid, each with the code of
    its fault. A claim that does not exist selects no row."""
    work.require(Right.AUDIT)
    faults = list[tuple[str, str]]()
    zone = ZoneInfo(timezone)

    def parse_start(name: str, text: str, days: int) -> datetime | None:
        day = parse_day(text) if text else None
        if text and day is None:
            faults.append((name, "DAY"))
        if day is None:
            return None
        return datetime.combine(day + timedelta(days=days), time(), zone).astimezone(UTC)

    kind, actor_id = await _find_actor(work, filters)
    subject = await _get_audit_subject(work, filters.claim) if filters.claim else None
    if subject == _NO_CLAIM:
        faults.append(("claim", "ABSENT"))
    wanted = AuditFilter(
        since=parse_start("since", filters.since, 0),
        until=parse_start("until", filters.until, 1),
        actor_kind=kind,
        actor_id=actor_id,
        action=filters.action or None,
        subject=subject,
    )
    return wanted, faults


async def _find_actor(work: Work, filters: AuditFilters) -> tuple[str | None, str | None]:
    """Return the kind and the id of the actor. A user is found by name or e-mail address."""
    kind = filters.kind if filters.kind in list(ActorKind) else None
    if not filters.who:
        return kind, None
    wanted = fold_email(filters.who)
    for user in await list_users(work.tx):
        if wanted in (fold_email(user.name), fold_email(user.email), str(user.user_id)):
            return str(ActorKind.USER), str(user.user_id)
    return kind, filters.who


async def _get_audit_subject(work: Work, given: str) -> str:
    """Return the audit subject of the claim with this reference or id. The reference comes
    first, because a reference can be a number."""
    found = await list_claims(work, limit=1, wanted=ClaimFilter(reference_number=given))
    if found.items:
        return f"claim:{found.items[0].claim_id}"
    is_number = given.isascii() and given.isdigit() and len(given) <= _MAX_DIGITS
    return f"claim:{int(given)}" if is_number else _NO_CLAIM


_PAGE_SIZE = 50
_CLAIM = "claim:"


@at_merchant
async def get_audit_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show one page. With the parameter `check`, verify the seals of the rows shown."""
    context, after = site.build_context(request, access), request.get_parameter("after")
    filters = parse_audit_filters(request)
    async with site.open_work(access) as work:
        wanted, faults = await build_audit_filter(work, filters, context.timezone)
        try:
            found = await list_audit(work, limit=_PAGE_SIZE, cursor=after or None, wanted=wanted)
        except ValidationError:
            return site.redirect(request, access, "audit", **filters.query)
        names = await load_user_names(work.tx, _list_user_ids(found.items))
        seals = [each.seal for each in found.items if each.seal is not None]
        span = (min(seals), max(seals)) if seals else None
        verdict = None
        if span is not None and request.get_parameter("check"):
            verdict = await verify_seal_range(work, site.resources.keys, *span)
    page = AuditPage(
        filters=filters,
        faults=faults,
        rows=[_build_row(each, names) for each in found.items],
        after=after,
        next_cursor=found.next_cursor,
        span=span,
        unsealed=len(found.items) - len(seals),
        verdict=verdict,
    )
    return site.render_page(context, page)


@takes_form_at_merchant
async def submit_export(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Export the rows that the filters select as CSV."""
    context = site.build_context(request, access)
    async with site.open_work(access) as work:
        wanted, _ = await build_audit_filter(work, parse_audit_filters(fields), context.timezone)
        job = await start_export(work, Export(ExportedList.AUDIT, _build_job_filter(wanted)))
    return site.redirect(request, access, "job", job_id=job.job_id)


@at_merchant
async def redirect_to_audit(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the URL of a form by hand."""
    return site.redirect(request, access, "audit")


def _list_user_ids(entries: Sequence[AuditEntry]) -> set[str]:
    user_kind = str(ActorKind.USER)
    return {each.actor_id for each in entries if each.actor_id and each.actor_kind == user_kind}


def _build_row(entry: AuditEntry, names: Mapping[str, str]) -> MerchantAuditRow:
    actor_id, origin = entry.actor_id or "", entry.origin or {}
    number = entry.subject.removeprefix(_CLAIM)
    is_claim = entry.subject.startswith(_CLAIM) and number.isdecimal()
    details: Mapping[str, object] = redact(dict(entry.details))
    return MerchantAuditRow(
        audit_id=entry.audit_id,
        at=entry.at,
        actor_kind=entry.actor_kind,
        actor=names.get(actor_id, actor_id if entry.actor_kind != ActorKind.DEBTOR else ""),
        actor_id=actor_id,
        action=entry.action,
        subject=entry.subject,
        claim_id=int(number) if is_claim else None,
        fields=list_shown_fields(entry.before, entry.after),
        details=details,
        interface=origin.get("face", ""),
        network=origin.get("network", ""),
        seal=entry.seal,
    )


def _build_job_filter(wanted: AuditFilter) -> dict[str, object]:
    """Return the filter's values for the background job."""
    given = msgspec.structs.asdict(wanted)
    return {
        name: render_instant(value) if isinstance(value, datetime) else value
        for name, value in given.items()
        if value is not None
    }


PAGES: RoutedPages = {
    "audit": {"GET": get_audit_page},
    "audit_export": {"GET": redirect_to_audit, "POST": submit_export},
}
