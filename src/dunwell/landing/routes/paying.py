"""Paying the whole amount: the check page, the hand-off, the way back, the receipt.

The amount is the server's: what a form says was shown is only compared with it. Coming back marks
nothing as paid; it only has the provider asked.
"""

from uuid import UUID

from dunwell.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.landing.answer import Answer, answer_page, answer_redirect
from dunwell.landing.desk import Desk
from dunwell.landing.in_session import in_session, takes_form
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.methods import label_provider, list_methods
from dunwell.landing.view import decide_outcome, decide_state, is_payable
from dunwell.landing.visit import Form, Visit
from dunwell.merchants.actor import Actor, ActorKind
from dunwell.payments.find_request import Receipt, load_receipt
from dunwell.payments.provider import ProviderAway
from dunwell.payments.request_states import RequestState
from dunwell.payments.settle_payment import settle_payment
from dunwell.payments.start_payment import REQUEST_ID_MARK, StartPayment, start_payment


@in_session
async def check_payment(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    return _answer_check(desk, visit, opened)


@takes_form
async def hand_off(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    amount_cents = opened.facts.outstanding_cents
    if form.get("shown") != str(amount_cents):
        return _answer_check(desk, visit, opened, "CHANGED")
    frame = desk.frame_opened(visit, opened)
    public_url = desk.resources.settings.public_url
    return_url = f"{public_url}/claim/return/{REQUEST_ID_MARK}{frame.query}"
    wanted = StartPayment(form.get("provider", ""), amount_cents, return_url, frame.language)
    actor = Actor(ActorKind.DEBTOR, str(opened.session.session_id))
    try:
        started = await start_payment(
            desk.resources, desk.providers, opened.merchant, actor, opened.facts.claim_id, wanted
        )
    except ProviderAway:
        return _answer_check(desk, visit, opened, "AWAY", status=503)
    except InvalidState:
        # Paid, ended, or money under way since the page was shown: the claim page says which.
        return desk.redirect(frame, "/claim")
    except ValidationError as refusal:
        if not _is_amount(refusal.faults):
            raise
        again = await desk.find_opened(visit)
        return _answer_check(desk, visit, again or opened, "CHANGED")
    return answer_redirect(started.url)


@in_session
async def come_back(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    receipt = await _load_receipt(desk, visit, opened)
    if receipt.state is not RequestState.COMPLETED:
        await _settle(desk, opened, receipt.request_id)
        opened = await desk.find_opened(visit) or opened
        receipt = await _load_receipt(desk, visit, opened)
    frame = desk.frame_opened(visit, opened)
    body = desk.show(
        "back.html", frame, opened,
        outcome=decide_outcome(receipt.state), request=receipt,
        provider=label_provider(receipt.provider), can_pay=_can_pay(desk, opened),
    )  # fmt: skip
    return answer_page(body)


@in_session
async def show_receipt(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    receipt = await _load_receipt(desk, visit, opened)
    if receipt.payment is None:
        raise NotFound("Nothing was paid by this request.")
    frame = desk.frame_opened(visit, opened)
    body = desk.show(
        "receipt.html", frame, opened,
        payment=receipt.payment, provider=label_provider(receipt.provider),
    )  # fmt: skip
    return answer_page(body)


def _answer_check(
    desk: Desk, visit: Visit, opened: OpenedClaim, notice: str | None = None, status: int = 200
) -> Answer:
    frame = desk.frame_opened(visit, opened)
    methods = list_methods(desk.providers, opened.merchant)
    if not _can_pay(desk, opened):
        return desk.redirect(frame, "/claim")
    body = desk.show("pay.html", frame, opened, methods=methods, notice=notice)
    origins = {desk.hand_off_origins.get(method.name) for method in methods} - {None}
    return answer_page(body, status, form_origins=sorted(filter(None, origins)))


def _can_pay(desk: Desk, opened: OpenedClaim) -> bool:
    state = decide_state(opened.facts, opened.merchant.now(desk.resources.clock))
    return is_payable(state) and bool(list_methods(desk.providers, opened.merchant))


async def _load_receipt(desk: Desk, visit: Visit, opened: OpenedClaim) -> Receipt:
    """Of the request in the path. Raises NotFound, also when it is another claim's."""
    request_id = _read_request_id(visit.parameters["request_id"])
    async with desk.resources.database.connection() as connection:
        work = desk.work(connection, opened.merchant, opened.session.session_id)
        receipt = await load_receipt(work, request_id)
    if receipt.claim_id != opened.facts.claim_id:
        raise NotFound("There is no such payment of this claim.")
    return receipt


async def _settle(desk: Desk, opened: OpenedClaim, request_id: UUID) -> None:
    """What is not known now comes by notice, or with the next look."""
    try:
        await settle_payment(
            desk.resources, desk.providers, opened.merchant.merchant_id, request_id
        )
    except ProviderAway:
        return


def _read_request_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is no such payment of this claim.") from None


def _is_amount(faults: list[Fault]) -> bool:
    return any(fault.code == "AMOUNT_CHANGED" for fault in faults)
