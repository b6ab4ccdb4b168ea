"""Managing other users: their permissions, invitations, changes and deactivation; and the audit log
of the installation."""

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
from dunwell.interfaces.portal.users.routes_account import parse_uuid
from dunwell.interfaces.portal.users.sign_in_cookies import get_sign_in_services
from dunwell.interfaces.portal.users.views import (
    Faults,
    InstallationAuditRow,
    InvitePage,
    OneTimeLinkPage,
    UserAuditPage,
    UserPage,
    UsersPage,
)
from dunwell.interfaces.portal.web.access import PortalRequest
from dunwell.interfaces.portal.web.confirm_identity import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import InvalidState, NotFound, ValidationError

# The name of the field of the role at merchant 7 is "at_7".
_ROLE_FIELD_PREFIX = "at_"
_MAX_TEXT_LENGTH = 300
_MAX_ID = 2**31 - 1
_ROLE_BY_NAME = {str(role): role for role in Role}


@signed_in
async def get_users_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    async with get_sign_in_services(site).work(person.actor) as work:
        work.require(Right.PEOPLE)
        users = await list_users(work.tx)
        names = _map_names(await list_named_merchants(work.tx))
    return site.render_page(site.build_context(request), UsersPage(users, names))


@signed_in
async def get_invite_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    return await _render_invite_page(site, request, person=person, typed={}, roles={}, faults={})


@takes_form
@confirmed(SensitiveAction.INVITE_USER)
async def submit_invitation(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    language = "de" if fields["language"] == "de" else "en"
    email, name = fields.text("email")[:_MAX_TEXT_LENGTH], fields.text("name")[:_MAX_TEXT_LENGTH]
    typed = {"email": email, "name": name, "language": language, "role": fields["role"]}
    roles = _parse_roles(fields)
    new = NewUser(email, name, "de" if language == "de" else "en", roles)
    try:
        async with get_sign_in_services(site).work(person.actor) as work:
            invitation = await invite_user(work, new, secrets.token_bytes(RANDOM_BYTES))
    except ValidationError as refusal:
        typed_roles = {merchant: str(role) for merchant, role in roles.memberships.items()}
        return await _render_invite_page(
            site,
            request,
            person=person,
            typed=typed,
            roles=typed_roles,
            faults=_get_faults(refusal),
        )
    return _render_link_page(site, request, name=name, email=email, invitation=invitation)


@signed_in
async def get_user_page(site: PortalSite, request: PortalRequest, person: SignedInUser) -> Response:
    return await _render_user_page(site, request, person=person, typed=None, faults={})


@takes_form
@confirmed(SensitiveAction.CHANGE_ROLE)
async def submit_roles(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    """Save the roles. After a conflict, the page shows the stored roles and the chosen ones."""
    user_id, roles = parse_uuid(request.path_params["user_id"]), _parse_roles(fields)
    revision = _parse_number(fields["revision"]) or 0
    try:
        async with get_sign_in_services(site).work(person.actor) as work:
            await change_roles(work, user_id, roles, revision)
    except ValidationError as refusal:
        return await _render_user_page(
            site, request, person=person, typed=roles, faults=_get_faults(refusal), status=400
        )
    except InvalidState as refusal:
        faults = {"": str(refusal.details["state"])}
        return await _render_user_page(
            site, request, person=person, typed=roles, faults=faults, status=409
        )
    return site.redirect(request, None, "people_user", user_id=user_id, done="saved")


@takes_form
@confirmed(SensitiveAction.DEACTIVATE_USER)
async def submit_deactivation(
    site: PortalSite, request: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    user_id = parse_uuid(request.path_params["user_id"])
    try:
        async with get_sign_in_services(site).work(person.actor) as work:
            await deactivate_user(work, user_id)
    except InvalidState as refusal:
        faults = {"": str(refusal.details["state"])}
        return await _render_user_page(
            site, request, person=person, typed=None, faults=faults, status=409
        )
    return site.redirect(request, None, "people", done="user_ended")


@takes_form
async def submit_sign_out(
    site: PortalSite, request: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    user_id = parse_uuid(request.path_params["user_id"])
    try:
        async with get_sign_in_services(site).work(person.actor) as work:
            await sign_out_user(work, user_id)
    except InvalidState as refusal:
        faults = {"": str(refusal.details["state"])}
        return await _render_user_page(
            site, request, person=person, typed=None, faults=faults, status=409
        )
    return site.redirect(request, None, "people_user", user_id=user_id, done="signed_out")


@takes_form
@confirmed(SensitiveAction.RESET_USER)
async def submit_reset(
    site: PortalSite, request: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    user_id = parse_uuid(request.path_params["user_id"])
    try:
        async with get_sign_in_services(site).work(person.actor) as work:
            invitation = await reset_other_user(work, user_id, secrets.token_bytes(RANDOM_BYTES))
            user = await _get_user(work, user_id)
    except InvalidState as refusal:
        faults = {"": str(refusal.details["state"])}
        return await _render_user_page(
            site, request, person=person, typed=None, faults=faults, status=409
        )
    return _render_link_page(site, request, name=user.name, email=user.email, invitation=invitation)


def _parse_roles(fields: FormFields) -> UserRoles:
    """Return the chosen roles. Unknown roles are left out, and the check then reports a missing
    role."""
    memberships: dict[int, Role] = {}
    for name in fields:
        number = _parse_number(name.removeprefix(_ROLE_FIELD_PREFIX))
        role = _ROLE_BY_NAME.get(fields[name])
        if name.startswith(_ROLE_FIELD_PREFIX) and number is not None and role:
            memberships[number] = role
    return UserRoles(_ROLE_BY_NAME.get(fields["role"]), memberships)


def _parse_number(text: str) -> int | None:
    """Return the number, at most the largest id; Python refuses to parse numbers with thousands of
    digits."""
    is_number = text.isascii() and text.isdecimal()
    return min(int(text[:10]), _MAX_ID) if is_number else None


def _get_faults(refusal: ValidationError) -> Faults:
    return {fault.path.lstrip("/"): fault.code for fault in refusal.faults}


def _map_names(merchants: Sequence[NamedMerchant]) -> Mapping[int, str]:
    return {each.merchant_id: each.name for each in merchants}


async def _get_user(work: UserWork, user_id: UUID) -> User:
    user = await load_user(work.tx, user_id)
    if user is None:
        raise NotFound("There is no such user.")
    return user


async def _render_invite_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser, typed: Mapping[str, str],
    roles: Mapping[int, str], faults: Faults,
) -> Response:  # fmt: skip
    async with get_sign_in_services(site).work(person.actor) as work:
        work.require(Right.PEOPLE)
        merchants = await list_named_merchants(work.tx)
    page = InvitePage(merchants, typed, roles, faults)
    return site.render_page(site.build_context(request), page, 400 if faults else 200)


async def _render_user_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser, typed: UserRoles | None,
    faults: Faults,
    status: int = 200,
) -> Response:  # fmt: skip
    """Render the page of a user. `typed` are the roles that were chosen and not saved."""
    user_id = parse_uuid(request.path_params["user_id"])
    async with get_sign_in_services(site).work(person.actor) as work:
        work.require(Right.PEOPLE)
        user = await _get_user(work, user_id)
        merchants = await list_named_merchants(work.tx)
        sessions = await list_active_sessions(work.tx, user_id, work.now)
    chosen = typed or user.roles
    page = UserPage(
        user=user,
        merchants=merchants,
        names=_map_names(merchants),
        rights=list_effective_rights(user.roles),
        sessions=sessions,
        is_own_account=user.user_id == person.user_id,
        typed_global_role=chosen.global_role or "",
        typed_roles={merchant: str(role) for merchant, role in chosen.memberships.items()},
        faults=faults,
    )
    return site.render_page(site.build_context(request), page, status)


def _render_link_page(
    site: PortalSite, request: PortalRequest, name: str, email: str, invitation: Invitation
) -> Response:
    """Render the one-time link, which is shown only in this response."""
    address = build_address("invitation", link=invitation.secret)
    origin = site.resources.settings.public_url
    page = OneTimeLinkPage(name, email, origin + address, invitation.expires_at)
    return site.render_page(site.build_context(request), page)


_PAGE_SIZE = 50
_USER_PREFIX = "user:"


@signed_in
async def get_audit_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    """Render the audit log. The query parameter `of` is the id of the user whose entries are
    shown."""
    user_id, after = request.get_parameter("of")[:40], request.get_parameter("after")[:200]
    wanted = AuditFilter(subject=f"{_USER_PREFIX}{user_id}" if user_id else None)
    async with get_sign_in_services(site).work(person.actor) as work:
        try:
            found = await list_installation_audit(
                work.tx, person.actor, limit=_PAGE_SIZE, cursor=after or None, wanted=wanted
            )
        except ValidationError:
            return site.redirect(request, None, "people_audit", of=user_id)
        names = {str(user.user_id): user.name for user in await list_users(work.tx)}
    rows = [_build_audit_row(entry, names) for entry in found.items]
    page = UserAuditPage(rows, user_id, found.next_cursor or "")
    return site.render_page(site.build_context(request), page)


def _build_audit_row(entry: AuditEntry, names: Mapping[str, str]) -> InstallationAuditRow:
    actor, subject = entry.actor_id or "", entry.subject.removeprefix(_USER_PREFIX)
    return InstallationAuditRow(
        audit_id=entry.audit_id,
        at=entry.at,
        actor=names.get(actor, actor or entry.actor_kind.lower()),
        action=entry.action,
        subject=names.get(subject, entry.subject),
        before=_render_fields(entry.before),
        after=_render_fields(entry.after),
        network=(entry.origin or {}).get("network", ""),
    )


def _render_fields(fields: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{name}: {json.dumps(value)}" for name, value in (fields or {}).items())


PAGES: RoutedPages = {
    "people": {"GET": get_users_page},
    "people_invite": {"GET": get_invite_page, "POST": submit_invitation},
    "people_user": {"GET": get_user_page, "POST": submit_roles},
    "people_end": {"POST": submit_deactivation},
    "people_sessions": {"POST": submit_sign_out},
    "people_reset": {"POST": submit_reset},
    "people_audit": {"GET": get_audit_page},
}
