"""A plan or a deferment that was asked for: how it stands, its confirmation, taking it back.

Of a closed claim nothing of it is shown any more.
"""

from collections.abc import Hashable
from uuid import UUID

from dunwell.errors import InvalidState, NotFound
from dunwell.landing.arranging.confirmation import is_agreed, tell_answer
from dunwell.landing.arranging.paper import compose_confirmation
from dunwell.landing.arranging.shown_plans import describe_schedule
from dunwell.landing.paying.routes import can_pay
from dunwell.landing.render.formats import render_bound_day
from dunwell.landing.render.pages import Frame
from dunwell.landing.render.slots import Slot
from dunwell.landing.session.details import ENDED_MODALITY
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.session.states import find_day
from dunwell.landing.web.answer import Answer, answer_file, answer_page
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import (
    from_level,
    in_session,
    in_session_with,
    takes_form_from,
    takes_form_with,
    unless_closed,
)
from dunwell.landing.web.visit import Form, Visit
from dunwell.messages.identities import mask_address
from dunwell.messages.letters.paper import write_paper
from dunwell.modalities.answer_modality import withdraw_modality
from dunwell.modalities.modality import Modality, ModalityType, find_open_rate
from dunwell.modalities.plans import Instalment
from dunwell.modalities.progress import GRACE
from dunwell.modalities.store import read_modality
from dunwell.notices.notice import Addressee
from dunwell.notices.send_notice import find_repeated, send_notice

# The page that leads here, which a reader comes back to with more to show.
_PLACE = "options"
# What the page can say of what was done before.
_NOTES = ("instead", "sent", "refused")


@in_session_with(ENDED_MODALITY)
@unless_closed
@from_level(Level.FACT, _PLACE)
async def show_modality(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    frame, modality = desk.frame_opened(visit, opened), _read(visit, opened)
    note, has_confirmation = visit.read_query("note"), is_agreed(modality)
    email = opened.facts.on_file.email if has_confirmation else None
    rate, coming = find_open_rate(modality), _find_next(modality)
    outstanding_cents = opened.facts.outstanding_cents
    is_part = rate is not None and rate.left_cents < outstanding_cents
    is_plan = modality.type is ModalityType.PAYMENT_PLAN
    same: dict[str, Hashable] = {
        "is_plan": is_plan, "state": modality.state,
        "reason": modality.ended_reason, "has_words": bool(modality.reason),
        "has_confirmation": has_confirmation, "has_masked": email is not None,
        "has_next": coming is not None, "has_rate": is_part,
        "has_outstanding": outstanding_cents > 0, "can_pay": can_pay(desk, opened),
        "note": note if note in _NOTES else None, "grace_days": GRACE.days,
    }  # fmt: skip
    slots: dict[str, Slot] = {
        **_show_amounts(desk, frame, opened, modality, coming),
        "modality_id": str(modality.modality_id), "words": modality.reason or "",
        "masked": "" if email is None else mask_address("EMAIL", email),
        "rate_cents": str(rate.left_cents) if rate is not None else "",
    }  # fmt: skip
    if is_plan:
        more_same, more_slots = describe_schedule(modality, frame.language)
        same, slots = same | more_same, {**slots, **more_slots}
    return answer_page(desk.pages.render_slotted("modality.html", frame, same, slots))


@in_session_with(ENDED_MODALITY)
@unless_closed
@from_level(Level.FACT, _PLACE)
async def send_pdf(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    modality = _read_agreed(visit, opened)
    words = desk.pages.languages[desk.frame_opened(visit, opened).language]
    pdf = await desk.press.print_paper(write_paper(compose_confirmation(words, opened, modality)))
    return answer_file(pdf, "application/pdf", "confirmation.pdf")


@takes_form_with(ENDED_MODALITY)
@unless_closed
@takes_form_from(Level.FACT, _PLACE)
async def send_copy(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    """To the address on file, which the page shows masked."""
    modality = _read_agreed(visit, opened)
    frame, facts = desk.frame_opened(visit, opened), opened.facts
    email = facts.on_file.email
    if email is None:
        raise NotFound("There is no address to send it to.")
    addressee = Addressee(facts.claim_id, "EMAIL", email, frame.language)
    told = tell_answer(modality, facts.reference_number)
    notice = desk.notices.write(opened.merchant, addressee, told)
    async with desk.resources.database.transaction() as tx:
        work = desk.work(tx, opened.merchant, opened.session.session_id)
        sent = await find_repeated(work, notice) or await send_notice(
            work, desk.resources.keys, notice
        )
    note = "sent" if isinstance(sent, UUID) else "refused"
    return desk.redirect(frame, f"/claim/modality/{modality.modality_id}?note={note}")


@in_session_with(ENDED_MODALITY)
@unless_closed
@from_level(Level.FACT, _PLACE)
async def confirm_withdrawal(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    modality = _read(visit, opened)
    if modality.ended_at is not None:
        return _go_to(desk, visit, opened, modality)
    frame = desk.frame_opened(visit, opened)
    same = {"is_plan": modality.type is ModalityType.PAYMENT_PLAN}
    slots = {
        "modality_id": str(modality.modality_id),
        "amount": desk.show_amount(opened.facts.outstanding_cents, frame, opened),
    }
    return answer_page(desk.pages.render_slotted("modality_withdraw.html", frame, same, slots))


@takes_form_with(ENDED_MODALITY)
@unless_closed
@takes_form_from(Level.FACT, _PLACE)
async def withdraw(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    """What has ended otherwise meanwhile stays as it is: the page says how."""
    modality = _read(visit, opened)
    try:
        async with desk.resources.database.transaction() as tx:
            work = desk.work(tx, opened.merchant, opened.session.session_id)
            await withdraw_modality(work, opened.facts.claim_id, modality.modality_id)
    except InvalidState:
        pass
    return _go_to(desk, visit, opened, modality)


@in_session
async def go_back(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return desk.redirect(desk.frame_opened(visit, opened), f"/claim/modality/{_read_id(visit)}")


def _find_next(modality: Modality) -> Instalment | None:
    return next((each for each in modality.schedule if not each.is_paid), None)


def _show_amounts(
    desk: Desk, frame: Frame, opened: OpenedClaim, modality: Modality, coming: Instalment | None
) -> dict[str, str]:
    """For the page's slots: sums and days. coming: what is to be paid next."""
    timezone, answered_at = opened.merchant.configuration.timezone, modality.answered_at
    return {
        "amount": desk.show_amount(modality.amount_cents, frame, opened),
        "outstanding": desk.show_amount(opened.facts.outstanding_cents, frame, opened),
        "first_day": render_bound_day(modality.schedule[0].due_on, frame.language),
        "next_amount": desk.show_amount(coming.left_cents, frame, opened) if coming else "",
        "next_day": render_bound_day(coming.due_on, frame.language) if coming else "",
        "answered_on": render_bound_day(find_day(answered_at, timezone), frame.language)
        if answered_at else "",
    }  # fmt: skip


def _read_agreed(visit: Visit, opened: OpenedClaim) -> Modality:
    """Raises NotFound where there is nothing to confirm."""
    modality = _read(visit, opened)
    if not is_agreed(modality):
        raise NotFound("There is nothing to confirm.")
    return modality


def _read(visit: Visit, opened: OpenedClaim) -> Modality:
    """The one in the path. Raises NotFound, also when it is another claim's."""
    if opened.modality is not None and opened.modality.modality_id == _read_id(visit):
        return opened.modality
    return read_modality(ENDED_MODALITY.read(opened.detail))


def _read_id(visit: Visit) -> UUID:
    try:
        return UUID(visit.parameters["modality_id"])
    except ValueError:
        raise NotFound("There is no such request of this claim.") from None


def _go_to(desk: Desk, visit: Visit, opened: OpenedClaim, modality: Modality) -> Answer:
    frame = desk.frame_opened(visit, opened)
    return desk.redirect(frame, f"/claim/modality/{modality.modality_id}")
