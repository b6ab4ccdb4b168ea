"""The contact preferences page: language, channels, and the one-click unsubscribe of e-mails."""

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.contact.sending.references import parse_reference
from dunwell.contact.sending.report import Reference
from dunwell.interfaces.landing.contact_preferences.change_contact import (
    build_contact_ways,
    change_channels,
    list_contact_ways,
    unsubscribe,
)
from dunwell.interfaces.landing.contact_preferences.store import SUPPRESSIONS
from dunwell.interfaces.landing.contact_preferences.views import (
    ContactWay,
    UnsubscribePage,
    describe_preferences,
)
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.sign_in.views import DeadLinkPage
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    accepts_form,
    check_feature,
    form_requires_level,
    in_session,
    in_session_with,
    requires_level,
)
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.http.requests import read_body

# The name of this page in RETURN_PAGES. It shows masked addresses, so a known fact suffices.
_RETURN_PAGE = "reach"
# The values of `saved` in the page's address.
_SAVED = ("language", "channels", "email", "sms")


@in_session_with(SUPPRESSIONS)
@requires_level(Level.FACT, _RETURN_PAGE)
async def get_preferences_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    check_feature(opened, "PREFERENCES")
    return await _answer_preferences(site, request, opened, saved=request.find_parameter("saved"))


@accepts_form
@form_requires_level(Level.FACT, _RETURN_PAGE)
async def save_language(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    """Save the language of the claim. Messages and this page use it from now on."""
    check_feature(opened, "PREFERENCES")
    context, language = site.build_claim_context(request, opened), form.get("language", "")
    if language not in context.offered:
        return site.redirect(context, "preferences")
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        await change_contact_data(work, opened.facts.claim_id, {"language": language})
    return site.redirect(
        msgspec.structs.replace(context, chosen=None), "preferences", saved="language"
    )


@accepts_form
@form_requires_level(Level.FACT, _RETURN_PAGE)
async def save_channels(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    check_feature(opened, "PREFERENCES")
    wanted = [channel for channel in CHANNELS if form.get(channel) == "use"]
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        changes = await change_channels(work, site.resources.keys, opened.facts.claim_id, wanted)
    if changes is None:
        return await _answer_preferences(site, request, opened, is_last_channel=True)
    return site.redirect(site.build_claim_context(request, opened), "preferences", saved="channels")


@in_session
async def redirect_to_preferences(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Redirect a GET request for an address that accepts only forms, for example after a change of
    language."""
    return site.redirect(site.build_claim_context(request, opened), "preferences")


async def _answer_preferences(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim,
    *, saved: str | None = None, is_last_channel: bool = False,
) -> Response:  # fmt: skip
    """Render the page. `is_last_channel` says that the choice was refused because no channel would
    be left."""
    context = site.build_claim_context(request, opened)
    page = describe_preferences(
        opened, context, site.pages.languages, await _list_ways(site, opened),
        saved=saved if saved in _SAVED else None, is_last_channel=is_last_channel,
    )  # fmt: skip
    return site.render_page(context, page, 422 if is_last_channel else 200)


async def _list_ways(site: DebtorSite, opened: OpenedClaim) -> list[ContactWay]:
    """List the addresses. Load the suppressions again if an address has changed since the session
    was opened."""
    keys, on_file = site.resources.keys, opened.facts.on_file
    ways = build_contact_ways(keys, opened.merchant, on_file, SUPPRESSIONS.decode(opened.detail))
    if ways is not None:
        return ways
    async with site.resources.database.connection() as connection:
        work = site.build_work(connection, opened.merchant, opened.session.session_id)
        return await list_contact_ways(work, keys, on_file)


# Enough for the body "List-Unsubscribe=One-Click", as a form or as multipart.
_MAX_BYTES = 8 * 1024


async def get_unsubscribe_page(site: DebtorSite, request: DebtorRequest) -> Response:
    reference, merchant = _parse_reference(site, request), None
    if reference is not None:
        async with site.resources.database.connection() as connection:
            merchant = await load_merchant(connection, reference.merchant_id)
    return _answer_unsubscribe(site, request, merchant, is_done=False)


async def submit_unsubscribe(site: DebtorSite, request: DebtorRequest) -> Response:
    """Unsubscribe. The response is not a redirect, because mail programs follow none (RFC 8058,
    section 3.1)."""
    await read_body(request, _MAX_BYTES)
    reference, merchant = _parse_reference(site, request), None
    if reference is not None:
        async with site.resources.database.transaction() as tx:
            merchant = await load_merchant(tx, reference.merchant_id)
            if merchant is not None:
                work = site.build_work(tx, merchant, "unsubscribe")
                is_known = await unsubscribe(work, site.resources.keys, reference)
                merchant = merchant if is_known else None
    return _answer_unsubscribe(site, request, merchant, is_done=True)


def _parse_reference(site: DebtorSite, request: DebtorRequest) -> Reference | None:
    return parse_reference(site.resources.keys, request.path_params["reference"])


def _answer_unsubscribe(
    site: DebtorSite, request: DebtorRequest, merchant: Merchant | None, *, is_done: bool
) -> Response:
    """Render the page, or the page of a dead link if `merchant` is None."""
    if merchant is None:
        return site.render_page(site.build_context(request), DeadLinkPage(), 410)
    page = UnsubscribePage(request.path_params["reference"], is_done)
    return site.render_page(site.build_context(request, merchant), page)


PAGES: RoutedPages = {
    "preferences": {"GET": get_preferences_page},
    "language": {"GET": redirect_to_preferences, "POST": save_language},
    "channels": {"GET": redirect_to_preferences, "POST": save_channels},
    "unsubscribe": {"GET": get_unsubscribe_page, "POST": submit_unsubscribe},
}
