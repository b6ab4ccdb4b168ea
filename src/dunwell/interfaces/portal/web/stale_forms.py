"""A form whose session is over: nothing is done. What its user typed is shown at once, kept for
that user alone, and put back into the form after they have signed in.

Whose form it is, its token says (`derive_form_token`); that the browser is that user's, the cookie:
of the session that is there now, or of the one that has ended.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.users.sessions.sessions import find_session_user
from dunwell.accounts.users.sessions.store import delete_kept_form, load_kept_form, save_kept_form
from dunwell.accounts.users.user import SignedInUser, is_form_of_user
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.interfaces.portal.web.form_filling import fill_form
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.templates import Page


class StalePage(Page, frozen=True):
    """A form whose session has ended, with everything that was typed. is_kept: whether the form is
    filled again after signing in."""

    template: ClassVar[str] = "stale.html"

    is_signed_in: bool
    back: str
    typed: Sequence[str]
    is_kept: bool


# Never shown and never kept, whatever form they are in.
_SECRET = frozenset({"code", "answer", "authorization"})
_SECRET_PREFIXES = ("password", "confirm_", "known_")
# Hidden in every form that is sent.
_HIDDEN = frozenset(
    {
        "token", "do", "next", "username", "session", "factor", "place", "first", "form_id",
        "revision", "order_revision", "seen", "check", "step", "endpoint", "counterpart",
        "of", "assignee",
    }
)  # fmt: skip
# Hidden in these forms, and typed in others.
_HIDDEN_ON: Mapping[str, frozenset[str]] = {
    "bulk": frozenset({"action", "claim", "which"}),
    "unplaced": frozenset({"key", "after"}),
    "workflow": frozenset({"name", "after", "show"}),
    "workflows": frozenset({"wait"}),
    "workflow_step": frozenset({"kind"}),
    "workflow_step_new": frozenset({"kind"}),
    "rules": frozenset({"name"}),
    "rules_try": frozenset({"rules"}),
    "settings_changes": frozenset({"publish"}),
}
# A merchant file may hold a webhook's authorization: shown to whoever sent it, and not kept.
_NOT_KEPT_ON: Mapping[str, frozenset[str]] = {"settings_changes": frozenset({"text"})}
_PAGES = {path: page for page, path in PATHS.items()}


def is_typed(page: str, name: str) -> bool:
    """Whether users type this field of the page's forms, and it is no secret."""
    is_secret = name in _SECRET or name.startswith(_SECRET_PREFIXES)
    return not is_secret and name not in _HIDDEN and name not in _HIDDEN_ON.get(page, ())


def list_typed(route: str, fields: FormFields) -> list[str]:
    """What the user typed, however short, in the order of the form; route: the form's address."""
    names = [name for name in fields if is_typed(_PAGES.get(route, ""), name)]
    return [value for name in names for value in fields.all(name) if value.strip()]


def choose_kept(route: str, fields: FormFields) -> dict[str, list[str]]:
    """What may be stored of it: also what was emptied."""
    return {name: fields.all(name) for name in fields if is_restored(route, name)}


def is_restored(route: str, name: str) -> bool:
    """Whether the field is among those that are kept and put back."""
    page = _PAGES.get(route, "")
    return is_typed(page, name) and name not in _NOT_KEPT_ON.get(page, ())


# Of the page before the values were put in.
_REPLACED = frozenset({"content-length", "etag"})


async def answer_stale(
    site: PortalSite, request: PortalRequest, fields: FormFields, person: SignedInUser | None
) -> Response:
    typed = list_typed(request.route, fields)
    user_id = await _find_owner(site, request, fields, person) if typed else None
    is_kept = False
    if user_id is not None:
        kept = choose_kept(request.route, fields)
        async with site.resources.database.transaction() as tx:
            is_kept = await save_kept_form(
                tx, user_id, request.own_address, fields=kept, now=site.now()
            )
    page = StalePage(person is not None, request.own_address, typed, is_kept=is_kept)
    return site.answer(site.build_context(request), page, 403)


async def restore_typed(
    site: PortalSite, request: PortalRequest, person: SignedInUser, answer: Response
) -> Response:
    """The page with what the user had typed before the session ended, if it is kept."""
    is_page = answer.headers.get("Content-Type", "").startswith("text/html")
    # A script that looks whether a page has changed asks for no form.
    is_opened = request.headers.get("sec-fetch-dest", "document") == "document"
    if not (request.method == "GET" and answer.status_code == 200 and is_page and is_opened):
        return answer
    async with site.resources.database.transaction() as tx:
        values = await load_kept_form(tx, person.user_id, request.own_address, site.now())
    if values is None:
        return answer
    language = site.build_context(request).language
    words = site.pages.read_words(language, "_restored.html", "restored")
    filled = fill_form(
        bytes(answer.body).decode(),
        request.scope["path"],
        values,
        is_filled=lambda name: is_restored(request.route, name),
        notice=words,
    )
    if filled is None:
        return answer
    return Response(
        filled, 200, {name: it for name, it in answer.headers.items() if name not in _REPLACED}
    )


async def forget_typed(site: PortalSite, request: PortalRequest, person: SignedInUser) -> None:
    """The form was sent."""
    async with site.resources.database.transaction() as tx:
        await delete_kept_form(tx, person.user_id, request.own_address)


async def _find_owner(
    site: PortalSite, request: PortalRequest, fields: FormFields, person: SignedInUser | None
) -> UUID | None:
    """None: the form is another user's, or nobody knows whose."""
    if person is not None:
        user_id: UUID | None = person.user_id
    else:
        secret = site.get_session_secret(request)
        async with site.resources.database.connection() as connection:
            user_id = await find_session_user(connection, secret) if secret else None
    is_theirs = user_id is not None and is_form_of_user(fields["token"], user_id)
    return user_id if is_theirs else None
