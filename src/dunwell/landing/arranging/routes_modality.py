"""A plan or a deferment that was asked for: how it stands, its confirmation, taking it back.

Of a closed claim nothing of it is shown any more.
"""

from uuid import UUID

from dunwell.errors import InvalidState, NotFound
from dunwell.landing.arranging.confirmation import is_agreed, tell_answer
from dunwell.landing.arranging.paper import compose_confirmation
from dunwell.landing.arranging.store import ENDED_MODALITY
from dunwell.landing.arranging.views import ModalityWithdrawPage, describe_modality
from dunwell.landing.paying.methods import can_pay
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.web.answer import Answer, answer_file
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
from dunwell.messages.letters.paper import write_paper
from dunwell.modalities.answer_modality import withdraw_modality
from dunwell.modalities.modality import Modality, ModalityType
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
    note = visit.read_query("note")
    page = describe_modality(
        opened, modality, can_pay=can_pay(desk, opened), note=note if note in _NOTES else None
    )
    return desk.answer(frame, page)


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
    return desk.redirect(frame, "modality", modality_id=modality.modality_id, note=note)


@in_session_with(ENDED_MODALITY)
@unless_closed
@from_level(Level.FACT, _PLACE)
async def confirm_withdrawal(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    modality = _read(visit, opened)
    if modality.ended_at is not None:
        return _go_to(desk, visit, opened, modality)
    frame = desk.frame_opened(visit, opened)
    page = ModalityWithdrawPage(
        modality=modality,
        is_plan=modality.type is ModalityType.PAYMENT_PLAN,
        currency=opened.facts.currency,
        outstanding_cents=opened.facts.outstanding_cents,
    )
    return desk.answer(frame, page)


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
    return desk.redirect(desk.frame_opened(visit, opened), "modality", modality_id=_read_id(visit))


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
    return desk.redirect(frame, "modality", modality_id=modality.modality_id)
