"""Other users: what they may do and why, inviting, changing and ending them, and the audit log of
the installation.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.installation.audit_log import AuditEntry, AuditFilter
from dunwell.accounts.merchants.audit_log import list_installation_audit
from dunwell.accounts.merchants.rights import Right, Role
from dunwell.accounts.users.manage_users import (
    RANDOM_BYTES,
    Invitation,
    change_roles,
    deactivate_user,
    invite_user,
    reset_other_user,
    sign_out_user,
)
from dunwell.accounts.users.sessions.store import list_active_sessions
from dunwell.accounts.users.store import NamedMerchant, list_named_merchants, list_users, load_user
from dunwell.accounts.users.user import (
    NewUser,
    SignedInUser,
    User,
    UserRoles,
    list_effective_rights,
)
from dunwell.accounts.users.user_work import UserWork
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.users.sign_in_cookies import receive
from dunwell.interfaces.portal.users.routes_account import read_id
from dunwell.interfaces.portal.users.views import (
    Faults,
    InstallationAuditRow,
    InvitePage,
    OneTimeLinkPage,
    PeopleAuditPage,
    PeoplePage,
    UserPage,
)
from dunwell.interfaces.portal.web.confirming import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import InvalidState, NotFound, ValidationError

# The field of a merchant's role: "at_7".
_AT = "at_"
_LONGEST = 300
_MOST_ID = 2**31 - 1
_ROLES = {str(role): role for role in Role}


@signed_in
async def show_people(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
    async with receive(site).work(person.actor) as work:
        work.require(Right.PEOPLE)
        users = await list_users(work.tx)
        names = _name(await list_named_merchants(work.tx))
    return site.answer(site.frame(visit), PeoplePage(users, names))


@signed_in
async def show_invite(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
    return await _show_invite(site, visit, person=person, typed={}, roles={}, faults={})


@takes_form
@confirmed(SensitiveAction.INVITE_USER)
async def invite(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    language = "de" if fields["language"] == "de" else "en"
    email, name = fields.text("email")[:_LONGEST], fields.text("name")[:_LONGEST]
    typed = {"email": email, "name": name, "language": language, "role": fields["role"]}
    roles = _read_roles(fields)
    new = NewUser(email, name, "de" if language == "de" else "en", roles)
    try:
        async with receive(site).work(person.actor) as work:
            made = await invite_user(work, new, secrets.token_bytes(RANDOM_BYTES))
    except ValidationError as refusal:
        typed_roles = {merchant: str(role) for merchant, role in roles.memberships.items()}
        return await _show_invite(
            site, visit, person=person, typed=typed, roles=typed_roles, faults=_tell(refusal)
        )
    return _show_link(site, visit, name=name, email=email, made=made)


@signed_in
async def show_user(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
    return await _show_user(site, visit, person=person, typed=None, faults={})


@takes_form
@confirmed(SensitiveAction.CHANGE_ROLE)
async def change(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    """Whoever was slower is shown what is there now beside what they chose."""
    user_id, roles = read_id(visit.path_params["user_id"]), _read_roles(fields)
    revision = _read_number(fields["revision"]) or 0
    try:
        async with receive(site).work(person.actor) as work:
            await change_roles(work, user_id, roles, revision)
    except ValidationError as refusal:
        return await _show_user(
            site, visit, person=person, typed=roles, faults=_tell(refusal), status=400
        )
    except InvalidState as refusal:
        faults = {"": str(refusal.details["state"])}
        return await _show_user(site, visit, person=person, typed=roles, faults=faults, status=409)
    return site.redirect(visit, None, "people_user", user_id=user_id, done="saved")


@takes_form
@confirmed(SensitiveAction.DEACTIVATE_USER)
async def end(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    user_id = read_id(visit.path_params["user_id"])
    try:
        async with receive(site).work(person.actor) as work:
            await deactivate_user(work, user_id)
    except InvalidState as refusal:
        faults = {"": str(refusal.details["state"])}
        return await _show_user(site, visit, person=person, typed=None, faults=faults, status=409)
    return site.redirect(visit, None, "people", done="user_ended")


@takes_form
async def sign_out(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    user_id = read_id(visit.path_params["user_id"])
    try:
        async with receive(site).work(person.actor) as work:
            await sign_out_user(work, user_id)
    except InvalidState as refusal:
        faults = {"": str(refusal.details["state"])}
        return await _show_user(site, visit, person=person, typed=None, faults=faults, status=409)
    return site.redirect(visit, None, "people_user", user_id=user_id, done="signed_out")


@takes_form
@confirmed(SensitiveAction.RESET_USER)
async def reset(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    user_id = read_id(visit.path_params["user_id"])
    try:
        async with receive(site).work(person.actor) as work:
            made = await reset_other_user(work, user_id, secrets.token_bytes(RANDOM_BYTES))
            user = await _require(work, user_id)
    except InvalidState as refusal:
        faults = {"": str(refusal.details["state"])}
        return await _show_user(site, visit, person=person, typed=None, faults=faults, status=409)
    return _show_link(site, visit, name=user.name, email=user.email, made=made)


def _read_roles(fields: FormFields) -> UserRoles:
    """What is none of the roles is left out, and then missed."""
    memberships: dict[int, Role] = {}
    for name in fields:
        number, role = _read_number(name.removeprefix(_AT)), _ROLES.get(fields[name])
        if name.startswith(_AT) and number is not None and role:
            memberships[number] = role
    return UserRoles(_ROLES.get(fields["role"]), memberships)


def _read_number(text: str) -> int | None:
    """At most the greatest there is; Python refuses to read thousands of digits."""
    is_number = text.isascii() and text.isdecimal()
    return min(int(text[:10]), _MOST_ID) if is_number else None


def _tell(refusal: ValidationError) -> Faults:
    return {fault.path.lstrip("/"): fault.code for fault in refusal.faults}


def _name(merchants: Sequence[NamedMerchant]) -> Mapping[int, str]:
    return {each.merchant_id: each.name for each in merchants}


async def _require(work: UserWork, user_id: UUID) -> User:
    user = await load_user(work.tx, user_id)
    if user is None:
        raise NotFound("There is no such user.")
    return user


async def _show_invite(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, typed: Mapping[str, str],
    roles: Mapping[int, str], faults: Faults,
) -> Response:  # fmt: skip
    async with receive(site).work(person.actor) as work:
        work.require(Right.PEOPLE)
        merchants = await list_named_merchants(work.tx)
    page = InvitePage(merchants, typed, roles, faults)
    return site.answer(site.frame(visit), page, 400 if faults else 200)


async def _show_user(
    site: PortalSite, visit: PortalRequest, person: SignedInUser, typed: UserRoles | None,
    faults: Faults,
    status: int = 200,
) -> Response:  # fmt: skip
    """typed: what was chosen and not saved."""
    user_id = read_id(visit.path_params["user_id"])
    async with receive(site).work(person.actor) as work:
        work.require(Right.PEOPLE)
        user = await _require(work, user_id)
        merchants = await list_named_merchants(work.tx)
        sessions = await list_active_sessions(work.tx, user_id, work.now)
    chosen = typed or user.roles
    page = UserPage(
        user=user,
        merchants=merchants,
        names=_name(merchants),
        rights=list_effective_rights(user.roles),
        sessions=sessions,
        is_oneself=user.user_id == person.user_id,
        typed_everywhere=chosen.global_role or "",
        typed_roles={merchant: str(role) for merchant, role in chosen.memberships.items()},
        faults=faults,
    )
    return site.answer(site.frame(visit), page, status)


def _show_link(
    site: PortalSite, visit: PortalRequest, name: str, email: str, made: Invitation
) -> Response:
    """The address stands in this answer alone."""
    address = build_address("invitation", link=made.secret)
    origin = site.resources.settings.public_url
    page = OneTimeLinkPage(name, email, origin + address, made.expires_at)
    return site.answer(site.frame(visit), page)


_PAGE = 50
_USER = "user:"


@signed_in
async def show_audit(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
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


def _read(entry: AuditEntry, names: Mapping[str, str]) -> InstallationAuditRow:
    actor, subject = entry.actor_id or "", entry.subject.removeprefix(_USER)
    return InstallationAuditRow(
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


PAGES: RoutedPages = {
    "people": {"GET": show_people},
    "people_invite": {"GET": show_invite, "POST": invite},
    "people_user": {"GET": show_user, "POST": change},
    "people_end": {"POST": end},
    "people_sessions": {"POST": sign_out},
    "people_reset": {"POST": reset},
    "people_audit": {"GET": show_audit},
}
