"""The claim page, and staying on or leaving."""

import msgspec
from starlette.responses import Response

from dunwell.interfaces.landing.claim.alternative import find_alternative
from dunwell.interfaces.landing.claim.look_ahead import look_ahead
from dunwell.interfaces.landing.claim.others import OTHERS, list_others
from dunwell.interfaces.landing.claim.routes_room import find_closing
from dunwell.interfaces.landing.claim.views import RoomPage, describe_claim, describe_withheld
from dunwell.interfaces.landing.entering.browser_sessions import (
    extend_opened,
    is_extended_by_form,
    renew_previous_token,
)
from dunwell.interfaces.landing.entering.notices import describe_notices
from dunwell.interfaces.landing.paying.methods import has_method
from dunwell.interfaces.landing.session.details import NOTHING
from dunwell.interfaces.landing.session.extend_session import end_session
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages, in_session_with, takes_form_with
from dunwell.interfaces.landing.web.leading import find_last_handle
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.landing.web.views import EndedPage
from dunwell.interfaces.web.form_fields import FormFields


@in_session_with(OTHERS, also_withheld=True)
async def show_claim(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    frame, merchant = site.frame_opened(visit, opened), opened.merchant
    if closing := await find_closing(site, visit):
        return site.answer(frame, RoomPage(closing))
    if opened.facts.withheld:
        return site.answer(frame, describe_withheld(opened, opened.facts.withheld))
    now, can_pay = merchant.now(site.resources.clock), has_method(site.providers, merchant)
    announced = await look_ahead(site.resources, opened, now)
    others = list_others(site.resources.keys, opened)
    page = describe_claim(
        opened, now, announced, can_pay=can_pay, other_count=len(others),
        alternative=await find_alternative(site.resources, opened, now),
    )  # fmt: skip
    return site.answer(frame, page)


async def extend(site: DebtorSite, visit: DebtorRequest) -> Response:
    """Another hour; a second click lands on the same page."""
    form, opened = await visit.read_session_form(), await site.find_opened(visit)
    if opened is None:
        return site.answer_ended(visit, None)
    frame = site.frame_opened(visit, opened)
    if not site.is_live(opened):
        return site.answer_ended(visit, opened)
    if visit.has_previous_token:
        site.check_token(opened.session, form)
        value = await renew_previous_token(site, opened, visit.session_hash or b"")
        return site.redirect(frame, "claim", cookie=value)
    if is_extended_by_form(site, opened, form) or not opened.session.can_be_extended:
        return site.redirect(frame, "claim")
    site.check_token(opened.session, form)
    return site.redirect(frame, "claim", cookie=await extend_opened(site, opened))


@takes_form_with(NOTHING, also_withheld=True)
async def end(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        await end_session(work, opened.session)
    # The cookie stays: it opens nothing, but tells why, and what another tab still brings is kept.
    return site.redirect(site.frame_opened(visit, opened), "ended")


async def show_ended(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(site.frame(visit), EndedPage("ENDED"))


async def go_back(site: DebtorSite, visit: DebtorRequest) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return site.redirect(site.frame(visit), "claim")


async def show_notices(site: DebtorSite, visit: DebtorRequest) -> Response:
    """Legal notice, privacy and accessibility, in a session or outside of one.

    A session that has timed out still names its creditor. One that the debtor ended does not: the
    next person at the same screen must not learn who wrote.
    """
    opened = await site.find_opened(visit)
    if opened is None or opened.session.ended_at is not None:
        frame = site.frame(visit)
    elif site.is_live(opened):
        frame = site.frame_opened(visit, opened)
    else:
        frame = site.frame(visit, opened.merchant, opened.facts.language)
    return site.answer(frame, describe_notices(frame.merchant))


async def show_imprint(site: DebtorSite, visit: DebtorRequest) -> Response:
    """The legal notice at the address where people look for it: of the claim opened last."""
    handle = await find_last_handle(site, visit)
    if handle is None:
        return site.answer(site.frame(visit), describe_notices(None))
    return site.redirect(msgspec.structs.replace(site.frame(visit), handle=handle), "notices")


PAGES: RoutedPages = {
    "claim": {"GET": show_claim},
    "extend": {"GET": go_back, "POST": extend},
    "end": {"GET": go_back, "POST": end},
    "ended": {"GET": show_ended},
    "notices": {"GET": show_notices},
    "imprint": {"GET": show_imprint},
    "impressum": {"GET": show_imprint},
}
