"""Forms that are submitted after their session has ended. Nothing is changed. The entered values
are shown at once, stored for the user of the session only, and restored to the form after this user
has signed in.

The form's token identifies its user (`derive_form_token`). The cookie of the current or the ended
session proves that the browser belongs to this user.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.users.sessions.sessions import find_session_user
from dunwell.accounts.users.sessions.store import delete_kept_form, load_kept_form, save_kept_form
from dunwell.accounts.users.user import SignedInUser, is_form_of_user
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.interfaces.portal.web.access import PortalRequest
from dunwell.interfaces.portal.web.form_filling import fill_form
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page


class StalePage(Page, frozen=True):
    """The page that shows the entered values. `is_kept` is true if they are restored after signing
    in."""

    template: ClassVar[str] = "stale.html"

    is_signed_in: bool
    back: str
    typed: Sequence[str]
    is_kept: bool


# Never shown and never stored, in any form.
_SECRET_FIELDS = frozenset({"code", "answer", "authorization"})
_SECRET_PREFIXES = ("password", "confirm_", "known_")
# Hidden in every form.
_HIDDEN_FIELDS = frozenset(
    {
        "token", "do", "next", "username", "session", "factor", "place", "first", "form_id",
        "revision", "order_revision", "seen", "check", "step", "endpoint", "counterpart",
        "of", "assignee",
    }
)  # fmt: skip
# Hidden in these forms, and visible in others.
_HIDDEN_FIELDS_OF_PAGE: Mapping[str, frozenset[str]] = {
    "bulk": frozenset({"action", "claim", "which"}),
    "debit_release": frozenset({"debit"}),
    "unmatched_messages": frozenset({"key", "after"}),
    "workflow": frozenset({"name", "after", "show"}),
    "workflows": frozenset({"wait"}),
    "workflow_step": frozenset({"kind"}),
    "workflow_step_new": frozenset({"kind"}),
    "rules": frozenset({"name"}),
    "rules_try": frozenset({"rules"}),
    "settings_changes": frozenset({"publish"}),
}
# A merchant file may contain a webhook's authorization: it is shown to the user who sent it, and
# not stored.
_NOT_STORED_FIELDS_OF_PAGE: Mapping[str, frozenset[str]] = {"settings_changes": frozenset({"text"})}
_PAGES = {path: page for page, path in PATHS.items()}


def is_typed_field(page: str, name: str) -> bool:
    """Return whether users enter this field of the page's forms, and it is not a secret."""
    is_secret = name in _SECRET_FIELDS or name.startswith(_SECRET_PREFIXES)
    return (
        not is_secret
        and name not in _HIDDEN_FIELDS
        and name not in _HIDDEN_FIELDS_OF_PAGE.get(page, ())
    )


def list_typed_values(route: str, fields: FormFields) -> list[str]:
    """Return the entered values in the order of the form. `route` is the form's path pattern."""
    names = [name for name in fields if is_typed_field(_PAGES.get(route, ""), name)]
    return [value for name in names for value in fields.all(name) if value.strip()]


def select_stored_values(route: str, fields: FormFields) -> dict[str, list[str]]:
    """Return the values to store, including fields that were emptied."""
    return {name: fields.all(name) for name in fields if is_restored(route, name)}


def is_restored(route: str, name: str) -> bool:
    """Return whether the field is stored and restored."""
    page = _PAGES.get(route, "")
    return is_typed_field(page, name) and name not in _NOT_STORED_FIELDS_OF_PAGE.get(page, ())


# Headers of the response that change when the values are restored.
_REPLACED = frozenset({"content-length", "etag"})


async def render_stale_form_page(
    site: PortalSite, request: PortalRequest, fields: FormFields, person: SignedInUser | None
) -> Response:
    typed = list_typed_values(request.route, fields)
    user_id = await _find_owner(site, request, fields, person) if typed else None
    is_kept = False
    if user_id is not None:
        kept = select_stored_values(request.route, fields)
        async with site.resources.database.transaction() as tx:
            is_kept = await save_kept_form(
                tx, user_id, request.own_address, fields=kept, now=site.now()
            )
    page = StalePage(person is not None, request.own_address, typed, is_kept=is_kept)
    return site.render_page(site.build_context(request), page, 403)


async def restore_typed_values(
    site: PortalSite, request: PortalRequest, person: SignedInUser, response: Response
) -> Response:
    """Return the page with the values that the user had entered before the session ended, if they
    are stored."""
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    # A script that polls a page does not restore the form.
    is_opened = request.headers.get("sec-fetch-dest", "document") == "document"
    if not (request.method == "GET" and response.status_code == 200 and is_page and is_opened):
        return response
    async with site.resources.database.transaction() as tx:
        values = await load_kept_form(tx, person.user_id, request.own_address, site.now())
    if values is None:
        return response
    language = site.build_context(request).language
    notice_macro = site.pages.get_variable(language, "_restored.html", "restored")
    filled = fill_form(
        bytes(response.body).decode(),
        request.scope["path"],
        values,
        should_fill=lambda name: is_restored(request.route, name),
        notice=notice_macro,
    )
    if filled is None:
        return response
    return Response(
        filled,
        200,
        {name: text for name, text in response.headers.items() if name not in _REPLACED},
    )


async def delete_typed_values(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> None:
    """Delete the stored values after the form was submitted."""
    async with site.resources.database.transaction() as tx:
        await delete_kept_form(tx, person.user_id, request.own_address)


async def _find_owner(
    site: PortalSite, request: PortalRequest, fields: FormFields, person: SignedInUser | None
) -> UUID | None:
    """Return the id of the signed-in user, or of the user of the ended session. Return None if the
    form belongs to another user or the user is unknown."""
    if person is not None:
        user_id: UUID | None = person.user_id
    else:
        secret = site.get_session_secret(request)
        async with site.resources.database.connection() as connection:
            user_id = await find_session_user(connection, secret) if secret else None
    is_users_form = user_id is not None and is_form_of_user(fields["token"], user_id)
    return user_id if is_users_form else None
