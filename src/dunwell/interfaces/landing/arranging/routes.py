"""What somebody can do who cannot pay all of it now: in parts, later, or neither; then advice, a
break, somebody to talk to."""

from datetime import date, datetime, timedelta

from starlette.responses import Response

from dunwell.cases.modalities.progress import start_of_day
from dunwell.contact.notices.occasions.facts import PauseFacts
from dunwell.contact.notices.occasions.tell_debtor import tell_debtor
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.holds import HoldKind
from dunwell.interfaces.landing.arranging.requesting import can_be_arranged, load_ground
from dunwell.interfaces.landing.arranging.views import HelpPage, describe_options
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import find_day, list_standing
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    in_session,
    takes_form,
    takes_form_from,
)
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import InvalidState

_PLACE = "help"
# Nobody is written to under these anyway.
_STOPPING = (
    HoldKind.PAUSE, HoldKind.DISPUTE, HoldKind.MODALITY_REQUESTED, HoldKind.MODALITY_ACTIVE,
)  # fmt: skip


@in_session
async def show_options(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """A link alone may see them: they tell of nothing but the amount."""
    frame = site.frame_opened(visit, opened)
    if not can_be_arranged(site, opened):
        return site.redirect(frame, "claim")
    ground = await load_ground(site, opened)
    now = opened.merchant.now(site.resources.clock)
    return site.answer(frame, describe_options(opened, ground, now))


@in_session
async def show_help(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """A link alone may see it; the break takes more."""
    if not can_be_arranged(site, opened):
        return site.redirect(site.frame_opened(visit, opened), "claim")
    return _answer_help(site, visit, opened)


@takes_form
@takes_form_from(Level.FACT, _PLACE)
async def pause(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Of many clicks one pauses; a second pause within 30 days is refused (CONTRACT 4)."""
    frame, until_on = site.frame_opened(visit, opened), _find_end(site, opened)
    if until_on is None:
        return site.redirect(frame, "help")
    claim_id = opened.facts.claim_id
    until = start_of_day(until_on, opened.merchant.configuration.timezone)
    try:
        async with site.resources.database.transaction() as tx:
            work = site.work(tx, opened.merchant, opened.session.session_id)
            hold_id = await open_hold(work, claim_id, HoldKind.PAUSE, until=until)
            facts = PauseFacts(opened.facts.reference_number, until_on)
            await tell_debtor(work, claim_id, str(hold_id), facts)
    except InvalidState:
        opened = await site.find_opened(visit) or opened
        if can_be_arranged(site, opened) and _find_paused_until(site, opened) is None:
            return _answer_help(site, visit, opened, is_refused=True)
    return site.redirect(frame, "help")


def _answer_help(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, *, is_refused: bool = False
) -> Response:
    page = HelpPage(
        reference=opened.facts.reference_number,
        timezone=opened.merchant.configuration.timezone,
        level=opened.session.level,
        paused_until=_find_paused_until(site, opened),
        pause_until=None if is_refused else _find_end(site, opened),
        is_refused=is_refused,
    )
    return site.answer(site.frame_opened(visit, opened), page, 409 if is_refused else 200)


def _find_end(site: DebtorSite, opened: OpenedClaim) -> date | None:
    """Until when a break would last; None: there is none to be had."""
    configuration = opened.merchant.configuration
    now = opened.merchant.now(site.resources.clock)
    is_stopped = any(hold.kind in _STOPPING for hold in list_standing(opened.facts, now))
    days = configuration.modalities.pause_days
    if is_stopped or days == 0 or not can_be_arranged(site, opened):
        return None
    return find_day(now, configuration.timezone) + timedelta(days=days)


def _find_paused_until(site: DebtorSite, opened: OpenedClaim) -> datetime | None:
    now = opened.merchant.now(site.resources.clock)
    ends = [
        hold.until
        for hold in list_standing(opened.facts, now)
        if hold.kind is HoldKind.PAUSE and hold.until is not None
    ]
    return max(ends, default=None)


PAGES: RoutedPages = {
    "options": {"GET": show_options},
    "help": {"GET": show_help, "POST": pause},
}
