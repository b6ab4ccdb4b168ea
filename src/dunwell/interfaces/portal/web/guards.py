"""Handlers of the portal's pages: each gets who is signed in, and the merchant its address names,
or is not run.

    handler                       runs for
    (site, visit)                 anybody
    signed_in(show)               who is signed in
    at_merchant(show)             who reaches the merchant in the address; for others it is absent
    takes_form, takes_form_at...  the same for a form with the session's own token
    in_preview_turn(show)         below `at_merchant`: one at a time for each user
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import TypeAlias

from starlette.responses import Response

from dunwell.accounts.users.user import SignedInUser
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.large_forms import read_form
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.stale_forms import answer_stale, forget_typed, restore_typed
from dunwell.interfaces.web.form_fields import FormFields

Run: TypeAlias = Callable[[PortalSite, PortalRequest], Awaitable[Response]]
# By name, the methods of pages and what they do.
RoutedPages: TypeAlias = Mapping[str, Mapping[str, Run]]
Show: TypeAlias = Callable[[PortalSite, PortalRequest, SignedInUser], Awaitable[Response]]
Take: TypeAlias = Callable[
    [PortalSite, PortalRequest, SignedInUser, FormFields], Awaitable[Response]
]
ShowAt: TypeAlias = Callable[[PortalSite, PortalRequest, MerchantAccess], Awaitable[Response]]
TakeAt: TypeAlias = Callable[
    [PortalSite, PortalRequest, MerchantAccess, FormFields], Awaitable[Response]
]


def signed_in(show: Show) -> Run:
    @wraps(show)
    async def run(site: PortalSite, visit: PortalRequest) -> Response:
        person = await site.find_person(visit)
        if person is None:
            return site.ask_to_sign_in(visit)
        answer = await show(site, visit, person)
        return await restore_typed(site, visit, person, answer) if person.has_kept_forms else answer

    return run


def takes_form(take: Take) -> Run:
    @wraps(take)
    async def run(site: PortalSite, visit: PortalRequest) -> Response:
        async with read_form(site, visit, visit.read_session_form, FormFields({})) as fields:
            person = await site.find_person(visit)
            if person is None or not person.is_form_token(fields["token"]):
                return await answer_stale(site, visit, fields, person)
            answer = await take(site, visit, person, fields)
            if person.has_kept_forms and answer.status_code == 303:
                await forget_typed(site, visit, person)
            return answer

    return run


def at_merchant(show: ShowAt) -> Run:
    @signed_in
    @wraps(show)
    async def run(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
        return await show(site, visit, await site.open_access(visit, person))

    return run


def in_preview_turn(show: ShowAt) -> ShowAt:
    """The page shows one message or one simulated claim: it is made when it is the user's turn, and
    within the limits of `PreviewTurns`."""

    @wraps(show)
    async def run(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
        user_id = access.person.user_id
        return await site.previews.run(visit, user_id, lambda: show(site, visit, access))

    return run


def takes_form_at_merchant(take: TakeAt) -> Run:
    @takes_form
    @wraps(take)
    async def run(
        site: PortalSite, visit: PortalRequest, person: SignedInUser, fields: FormFields
    ) -> Response:
        return await take(site, visit, await site.open_access(visit, person), fields)

    return run
