"""The audit log of a merchant: filtered, page by page, its seals checked when asked, written out as
CSV by the worker. Who may not read it finds no such page."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from starlette.responses import Response

from dunwell.accounts.installation.audit_log import AuditEntry, AuditFilter
from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.audit_fields import list_fields, redact
from dunwell.accounts.merchants.list_audit import list_audit
from dunwell.interfaces.portal.audit.asked import read_audit_filters, understand
from dunwell.interfaces.portal.audit.views import AuditPage, AuditRow
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.operations.explanation.store import load_user_names
from dunwell.operations.jobs.job import Export, ExportedList
from dunwell.operations.jobs.start_job import start_export
from dunwell.operations.keys.verify_span import verify_span
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import write_instant

_PAGE = 50
_CLAIM = "claim:"


@at_merchant
async def show_audit(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    """check: the seals of what is shown are verified, which changes nothing."""
    frame, after = site.frame(visit, access), visit.ask("after")
    filters = read_audit_filters(visit)
    async with site.work(access) as work:
        wanted, faults = await understand(work, filters, frame.timezone)
        try:
            found = await list_audit(work, limit=_PAGE, cursor=after or None, wanted=wanted)
        except ValidationError:
            return site.redirect(visit, access, "audit", **filters.query)
        names = await load_user_names(work.tx, _list_people(found.items))
        seals = [each.seal for each in found.items if each.seal is not None]
        span = (min(seals), max(seals)) if seals else None
        verdict = None
        if span is not None and visit.ask("check"):
            verdict = await verify_span(work, site.resources.keys, *span)
    page = AuditPage(
        filters=filters,
        faults=faults,
        rows=[_describe(each, names) for each in found.items],
        after=after,
        next_cursor=found.next_cursor,
        span=span,
        unsealed=len(found.items) - len(seals),
        verdict=verdict,
    )
    return site.answer(frame, page)


@takes_form_at_merchant
async def take_export(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """The rows that the filters leave, as CSV."""
    frame = site.frame(visit, access)
    async with site.work(access) as work:
        wanted, _ = await understand(work, read_audit_filters(fields), frame.timezone)
        job = await start_export(work, Export(ExportedList.AUDIT, _as_json(wanted)))
    return site.redirect(visit, access, "job", job_id=job.job_id)


@at_merchant
async def go_to_audit(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    """The address that only takes forms, opened by hand."""
    return site.redirect(visit, access, "audit")


def _list_people(entries: Sequence[AuditEntry]) -> set[str]:
    is_person = str(ActorKind.USER)
    return {each.actor_id for each in entries if each.actor_id and each.actor_kind == is_person}


def _describe(entry: AuditEntry, names: Mapping[str, str]) -> AuditRow:
    actor_id, origin = entry.actor_id or "", entry.origin or {}
    number = entry.subject.removeprefix(_CLAIM)
    is_claim = entry.subject.startswith(_CLAIM) and number.isdecimal()
    details: Mapping[str, object] = redact(dict(entry.details))
    return AuditRow(
        audit_id=entry.audit_id,
        at=entry.at,
        actor_kind=entry.actor_kind,
        actor=names.get(actor_id, actor_id if entry.actor_kind != ActorKind.DEBTOR else ""),
        actor_id=actor_id,
        action=entry.action,
        subject=entry.subject,
        claim_id=int(number) if is_claim else None,
        fields=list_fields(entry.before, entry.after),
        details=details,
        interface=origin.get("face", ""),
        network=origin.get("network", ""),
        seal=entry.seal,
    )


def _as_json(wanted: AuditFilter) -> dict[str, object]:
    """What is given of a filter, as a job keeps it."""
    given = msgspec.structs.asdict(wanted)
    return {
        name: write_instant(value) if isinstance(value, datetime) else value
        for name, value in given.items()
        if value is not None
    }


PAGES: RoutedPages = {
    "audit": {"GET": show_audit},
    "audit_export": {"GET": go_to_audit, "POST": take_export},
}
