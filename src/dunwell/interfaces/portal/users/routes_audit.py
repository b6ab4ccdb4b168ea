"""What was done to people and by them where no merchant is concerned: sign-ins, roles, sessions."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from dunwell.accounts.installation.audit_log import AuditEntry, AuditFilter
from dunwell.accounts.merchants.list_audit import list_installation_audit
from dunwell.accounts.users.store import list_users
from dunwell.accounts.users.user import SignedIn
from dunwell.interfaces.portal.users.door import receive
from dunwell.interfaces.portal.users.views import AuditRow, PeopleAuditPage
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.platform.errors import ValidationError

_PAGE = 50
_USER = "user:"


@signed_in
async def show_audit(site: PortalSite, visit: PortalRequest, person: SignedIn) -> Response:
    """of: a user's id, whose rows alone are wanted."""
    of, after = visit.ask("of")[:40], visit.ask("after")[:200]
    wanted = AuditFilter(subject=f"{_USER}{of}" if of else None)
    async with receive(site).work(person.actor) as work:
        try:
            found = await list_installation_audit(
                work.tx, person.actor, limit=_PAGE, cursor=after or None, wanted=wanted
            )
        except ValidationError:
            return site.redirect(visit, None, "people_audit", of=of)
        names = {str(user.user_id): user.name for user in await list_users(work.tx)}
    rows = [_read(entry, names) for entry in found.items]
    page = PeopleAuditPage(rows, of, found.next_cursor or "")
    return site.answer(site.frame(visit), page)


def _read(entry: AuditEntry, names: Mapping[str, str]) -> AuditRow:
    actor, subject = entry.actor_id or "", entry.subject.removeprefix(_USER)
    return AuditRow(
        audit_id=entry.audit_id,
        at=entry.at,
        actor=names.get(actor, actor or entry.actor_kind.lower()),
        action=entry.action,
        subject=names.get(subject, entry.subject),
        before=_write(entry.before),
        after=_write(entry.after),
        network=(entry.origin or {}).get("network", ""),
    )


def _write(fields: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{name}: {json.dumps(value)}" for name, value in (fields or {}).items())


PAGES: RoutedPages = {"people_audit": {"GET": show_audit}}
