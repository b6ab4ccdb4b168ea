"""A plan or a deferment that was asked for: how it stands, its confirmation, taking it back.

Of a closed claim nothing of it is shown any more.
"""

from uuid import UUID

from dunwell.errors import InvalidState, NotFound
from dunwell.landing.answer import Answer, answer_file, answer_page
from dunwell.landing.confirmation import is_agreed, tell_answer
from dunwell.landing.desk import Desk
from dunwell.landing.in_session import (
    from_level,
    in_session,
    takes_form,
    takes_form_from,
    unless_closed,
)
from dunwell.landing.lookup import OpenedClaim, load_known
from dunwell.landing.modality_paper import compose_confirmation
from dunwell.landing.routes.paying import can_pay
from dunwell.landing.session import Level
from dunwell.landing.visit import Form, Visit
from dunwell.messages.identities import mask_address
from dunwell.messages.letters.paper import write_paper
from dunwell.modalities.modality import Modality, ModalityType, find_open_rate
from dunwell.modalities.progress import GRACE
from dunwell.modalities.store import load_modality
from dunwell.modalities.withdraw_modality import withdraw_modality
from dunwell.notices.notice import Addressee
from dunwell.notices.send_notice import find_repeated, send_notice

# The page that leads here, which a reader comes back to with more to show.
_PLACE = "options"


@in_session
@unless_closed
@from_level(Level.FACT, _PLACE)
async def show_modality(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    modality = await _load(desk, visit, opened)
    has_confirmation = is_agreed(modality)
    email = await _find_email(desk, opened) if has_confirmation else None
    body = desk.show(
        "modality.html", desk.frame_opened(visit, opened), opened,
        modality=modality, is_plan=modality.type is ModalityType.PAYMENT_PLAN,
        has_confirmation=has_confirmation, grace_days=GRACE.days,
        next_rate=next((each for each in modality.schedule if not each.is_paid), None),
        rate_cents=_find_rate_cents(modality, opened),
        can_pay=can_pay(desk, opened), note=visit.read_query("note"),
        masked=None if email is None else mask_address("EMAIL", email),
    )  # fmt: skip
    return answer_page(body)


@in_session
@unless_closed
@from_level(Level.FACT, _PLACE)
async def send_pdf(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    modality = await _load_agreed(desk, visit, opened)
    words = desk.pages.languages[desk.frame_opened(visit, opened).language]
    pdf = await desk.press.print_paper(write_paper(compose_confirmation(words, opened, modality)))
    return answer_file(pdf, "application/pdf", "confirmation.pdf")


@takes_form
@unless_closed
@takes_form_from(Level.FACT, _PLACE)
async def send_copy(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    """To the address on file, which the page shows masked."""
    modality = await _load_agreed(desk, visit, opened)
    frame, facts = desk.frame_opened(visit, opened), opened.facts
    async with desk.resources.database.transaction() as tx:
        work = desk.work(tx, opened.merchant, opened.session.session_id)
        known = await load_known(tx, work.merchant_id, facts.claim_id)
        email = known.addresses.get("EMAIL")
        if email is None:
            raise NotFound("There is no address to send it to.")
        addressee = Addressee(facts.claim_id, "EMAIL", email, frame.language)
        told = tell_answer(modality, facts.reference_number)
        notice = desk.notices.write(opened.merchant, addressee, told)
        sent = await find_repeated(work, notice, desk.now()) or await send_notice(
            work, desk.resources.keys, notice, desk.now()
        )
    note = "sent" if isinstance(sent, UUID) else "refused"
    return desk.redirect(frame, f"/claim/modality/{modality.modality_id}?note={note}")


@in_session
@unless_closed
@from_level(Level.FACT, _PLACE)
async def confirm_withdrawal(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    modality = await _load(desk, visit, opened)
    if modality.ended_at is not None:
        return _go_to(desk, visit, opened, modality)
    body = desk.show(
        "modality_withdraw.html", desk.frame_opened(visit, opened), opened,
        modality=modality, is_plan=modality.type is ModalityType.PAYMENT_PLAN,
    )  # fmt: skip
    return answer_page(body)


@takes_form
@unless_closed
@takes_form_from(Level.FACT, _PLACE)
async def withdraw(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    """What has ended otherwise meanwhile stays as it is: the page says how."""
    modality = await _load(desk, visit, opened)
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


def _find_rate_cents(modality: Modality, opened: OpenedClaim) -> int | None:
    """What is left of a running plan's next rate; None: there is none, or it is all that is
    owed."""
    rate = find_open_rate(modality)
    is_part = rate is not None and rate.left_cents < opened.facts.outstanding_cents
    return rate.left_cents if rate is not None and is_part else None


async def _find_email(desk: Desk, opened: OpenedClaim) -> str | None:
    merchant_id, claim_id = opened.merchant.merchant_id, opened.facts.claim_id
    async with desk.resources.database.connection() as connection:
        known = await load_known(connection, merchant_id, claim_id)
    return known.addresses.get("EMAIL")


async def _load_agreed(desk: Desk, visit: Visit, opened: OpenedClaim) -> Modality:
    """Raises NotFound where there is nothing to confirm."""
    modality = await _load(desk, visit, opened)
    if not is_agreed(modality):
        raise NotFound("There is nothing to confirm.")
    return modality


async def _load(desk: Desk, visit: Visit, opened: OpenedClaim) -> Modality:
    """The one in the path. Raises NotFound, also when it is another claim's."""
    modality_id = _read_id(visit)
    if opened.modality is not None and opened.modality.modality_id == modality_id:
        return opened.modality
    merchant_id, claim_id = opened.merchant.merchant_id, opened.facts.claim_id
    async with desk.resources.database.connection() as connection:
        modality = await load_modality(connection, merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound("There is no such request of this claim.")
    return modality


def _read_id(visit: Visit) -> UUID:
    try:
        return UUID(visit.parameters["modality_id"])
    except ValueError:
        raise NotFound("There is no such request of this claim.") from None


def _go_to(desk: Desk, visit: Visit, opened: OpenedClaim, modality: Modality) -> Answer:
    frame = desk.frame_opened(visit, opened)
    return desk.redirect(frame, f"/claim/modality/{modality.modality_id}")
