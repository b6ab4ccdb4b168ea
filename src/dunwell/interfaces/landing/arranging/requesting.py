"""What the pages of plans and of deferments have in common: who may ask, and asking."""

from collections.abc import Sequence

from starlette.responses import Response

from dunwell.cases.modalities.answer_modality import request_modality
from dunwell.cases.modalities.bounds import ClaimFacts, Terms
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import load_modalities
from dunwell.interfaces.landing.arranging.asking import Ground, find_live, may_ask
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.states import PageState, decide_state
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import InvalidState, ValidationError

# Of a claim's modalities, more than a debtor can have asked for in the time that counts.
_EARLIER = 200
_MOST_DIGITS = 12


def can_be_arranged(site: DebtorSite, opened: OpenedClaim) -> bool:
    """Whether there is anything left to pay later."""
    state = decide_state(opened.facts, opened.merchant.now(site.resources.clock))
    return state in (PageState.OPEN, PageState.HELD, PageState.PENDING)


async def load_ground(site: DebtorSite, opened: OpenedClaim) -> Ground:
    merchant, facts = opened.merchant, opened.facts
    earlier = await _load_earlier(site, opened) if facts.has_modalities else []
    return Ground(
        merchant.configuration.modalities,
        ClaimFacts(facts.outstanding_cents, facts.max_deferral_on),
        local_date(merchant.now(site.resources.clock), merchant.configuration.timezone),
        earlier,
    )


def read_fields(visit: DebtorRequest) -> dict[str, str]:
    """Of the address, each field's last value."""
    return {name: values[-1] for name, values in visit.query.items()}


def lead_elsewhere(
    site: DebtorSite, frame: DebtorPageContext, opened: OpenedClaim, ground: Ground
) -> Response | None:
    """For somebody who cannot ask: to what stands already, or where it is said why."""
    if not can_be_arranged(site, opened):
        return site.redirect(frame, "claim")
    live = find_live(ground.earlier)
    if live is not None:
        return site.redirect(frame, "modality", modality_id=live.modality_id)
    is_free = may_ask(ground.earlier, opened.merchant.now(site.resources.clock))
    return None if is_free else site.redirect(frame, "options")


async def ask_for(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, terms: Terms, form: FormFields
) -> Response | None:
    """Of many clicks one asks, and all come to the same page. None: another sum is owed than the
    form says was shown, or the terms are not to be had any more."""
    frame = site.frame_opened(visit, opened)
    try:
        modality = await _request(site, opened, terms, _read_shown(form))
    except ValidationError:
        return None
    except InvalidState:
        live = find_live(await _load_earlier(site, opened))
        if live is None:
            # Paid, ended, or asked for too often: that page says which.
            return site.redirect(frame, "options")
        is_same = terms.schedule(live.amount_cents) == live.schedule
        note = {} if is_same else {"note": "instead"}
        return site.redirect(frame, "modality", modality_id=live.modality_id, **note)
    return site.redirect(frame, "modality", modality_id=modality.modality_id)


async def _load_earlier(site: DebtorSite, opened: OpenedClaim) -> Sequence[Modality]:
    async with site.resources.database.connection() as connection:
        return await load_modalities(
            connection, opened.merchant.merchant_id, opened.facts.claim_id, limit=_EARLIER
        )


async def _request(
    site: DebtorSite, opened: OpenedClaim, terms: Terms, shown_cents: int
) -> Modality:
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
        return await request_modality(work, opened.facts.claim_id, terms, shown_cents=shown_cents)


def _read_shown(form: FormFields) -> int:
    """What the form says was shown as owed; -1, which is never owed, for what is no sum."""
    text = form.get("shown", "")
    is_sum = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_sum else -1
