"""A dispute that was sent: its case number, what is paused, more files, taking it back."""

from collections.abc import Sequence

from dunwell.claims.store import lock_claim
from dunwell.disputes.add_evidence import add_evidence
from dunwell.disputes.dispute import Dispute, DisputeState, find_answer_day, render_case_number
from dunwell.disputes.end_dispute import withdraw_dispute
from dunwell.disputes.evidence import MOST_AT_ONCE
from dunwell.disputes.evidence_store import load_evidence_digests
from dunwell.errors import InvalidState, Refusal, Unavailable, ValidationError
from dunwell.files.upload import PreparedUpload
from dunwell.landing.objecting.disputing import ShownReason, can_dispute, find_undisputed_cents
from dunwell.landing.objecting.receive_files import FileRefusal, Late, discard, receive_files
from dunwell.landing.paying.routes import can_pay
from dunwell.landing.render.formats import render_bound_day
from dunwell.landing.render.pages import Frame
from dunwell.landing.render.slots import Slot
from dunwell.landing.session.details import DISPUTE, DisputeWithFiles
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level, Session
from dunwell.landing.session.states import find_day
from dunwell.landing.web.answer import Answer, answer_page
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import in_session_with, takes_form_with
from dunwell.landing.web.visit import Form, Visit
from dunwell.merchants.actor import ActorKind

_PLACE = "claim"
_SENT = "dispute_sent.html"


@in_session_with(DISPUTE)
async def show_dispute(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    return _answer_dispute(desk, visit, opened, DISPUTE.read(opened.detail))


@in_session_with(DISPUTE)
async def add_files(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    dispute = DISPUTE.read(opened.detail).dispute
    if not _is_theirs(dispute, opened.session):
        return desk.ask_more(visit, opened, _PLACE)
    received = await receive_files(desk, visit, opened)
    if isinstance(received, Late):
        return desk.answer_ended(visit, received.opened)
    refusals = [*received.refusals, *await _add(desk, opened, dispute, received.uploads)]
    if refusals:
        opened = await desk.find_opened(visit, DISPUTE) or opened
        return _answer_dispute(desk, visit, opened, DISPUTE.read(opened.detail), refusals)
    return _go_to(desk, visit, opened, dispute)


@in_session_with(DISPUTE)
async def go_to_dispute(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    dispute = DISPUTE.read(opened.detail).dispute
    return _go_to(desk, visit, opened, dispute)


@in_session_with(DISPUTE)
async def confirm_withdrawal(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    dispute = DISPUTE.read(opened.detail).dispute
    if not _can_withdraw(dispute):
        return _go_to(desk, visit, opened, dispute)
    if not _is_theirs(dispute, opened.session):
        return desk.ask_more(visit, opened, _PLACE)
    frame = desk.frame_opened(visit, opened)
    case_number = render_case_number(dispute.dispute_id)
    slots = {"dispute_id": str(dispute.dispute_id), "case_number": case_number}
    return answer_page(desk.pages.render_slotted("dispute_withdraw.html", frame, {}, slots))


@takes_form_with(DISPUTE)
async def withdraw(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    """What was answered meanwhile stays as it is: the page says how."""
    dispute = DISPUTE.read(opened.detail).dispute
    if _can_withdraw(dispute):
        if not _is_theirs(dispute, opened.session):
            return desk.ask_more(visit, opened, _PLACE)
        try:
            async with desk.resources.database.transaction() as tx:
                work = desk.work(tx, opened.merchant, opened.session.session_id)
                await withdraw_dispute(work, opened.facts.claim_id, dispute.dispute_id)
        except InvalidState:
            return _go_to(desk, visit, opened, dispute)
    return _go_to(desk, visit, opened, dispute)


async def _add(
    desk: Desk, opened: OpenedClaim, dispute: Dispute, uploads: list[PreparedUpload]
) -> list[FileRefusal]:
    """All of them or none, but for those the dispute has already: a second click adds nothing. What
    was answered meanwhile takes none: the page says so."""
    if not uploads:
        return []
    try:
        async with desk.resources.database.transaction() as tx:
            work = desk.work(tx, opened.merchant, opened.session.session_id)
            # Two forms at once take turns.
            await lock_claim(tx, work.merchant_id, opened.facts.claim_id)
            known = await load_evidence_digests(tx, work.merchant_id, dispute.dispute_id)
            fresh = {each.sha256: each for each in uploads if each.sha256 not in known}
            new = list(fresh.values())
            if new:
                ticket_ids = [upload.ticket_id for upload in new]
                await add_evidence(work, opened.facts.claim_id, dispute.dispute_id, ticket_ids)
    except Unavailable:
        # They may have been written all the same.
        raise
    except Refusal as refusal:
        await discard(desk, opened, uploads)
        if isinstance(refusal, ValidationError):
            return [FileRefusal("TOO_MANY")]
        if not isinstance(refusal, InvalidState):
            raise
        return []
    await discard(desk, opened, [upload for upload in uploads if upload not in new])
    return []


def _answer_dispute(
    desk: Desk, visit: Visit, opened: OpenedClaim, found: DisputeWithFiles,
    refusals: Sequence[FileRefusal] = (),
) -> Answer:  # fmt: skip
    dispute, frame = found.dispute, desk.frame_opened(visit, opened)
    shows_content = opened.session.level.reaches(Level.FACT)
    undisputed_cents = _find_undisputed(desk, opened, dispute) if shows_content else None
    same = {
        "state": dispute.state, "ended_claim": dispute.ended_claim,
        "is_stopped": dispute.state is DisputeState.OPEN and can_dispute(opened.facts),
        "has_undisputed": bool(undisputed_cents), "shows_content": shows_content,
        "has_resolution": bool(dispute.resolution), "has_message": bool(dispute.message),
        "reason": ShownReason(dispute.reason or dispute.type, dispute.type, dispute.label),
        "can_withdraw": _can_withdraw(dispute), "is_theirs": _is_theirs(dispute, opened.session),
        "most_files": MOST_AT_ONCE, "refusals": tuple(refusals),
    }  # fmt: skip
    slots: dict[str, Slot] = {
        **_show_days(frame, opened, dispute),
        "dispute_id": str(dispute.dispute_id),
        "case_number": render_case_number(dispute.dispute_id),
        "undisputed": desk.show_amount(undisputed_cents or 0, frame, opened),
        "undisputed_cents": str(undisputed_cents or ""),
        "message": dispute.message or "", "resolution": dispute.resolution or "",
        "file_names": [each.name for each in found.files] if shows_content else (),
    }  # fmt: skip
    if refusals:
        return answer_page(desk.pages.render(_SENT, frame, **same, **slots), 422)
    return answer_page(desk.pages.render_slotted(_SENT, frame, same, slots))


def _show_days(frame: Frame, opened: OpenedClaim, dispute: Dispute) -> dict[str, str]:
    configuration = opened.merchant.configuration
    timezone, days = configuration.timezone, configuration.disputes.answer_within_days
    answer_on = find_answer_day(dispute.opened_at, days, timezone)
    return {
        "opened_on": render_bound_day(find_day(dispute.opened_at, timezone), frame.language),
        "answer_on": render_bound_day(answer_on, frame.language),
    }


def _find_undisputed(desk: Desk, opened: OpenedClaim, dispute: Dispute) -> int | None:
    """The part that can be paid while the rest is looked into."""
    if dispute.state is not DisputeState.OPEN or not can_pay(desk, opened):
        return None
    return find_undisputed_cents(dispute, opened.facts, opened.merchant.configuration)


def _can_withdraw(dispute: Dispute) -> bool:
    """What the merchant recorded is the merchant's to answer."""
    return dispute.state is DisputeState.OPEN and dispute.actor_kind is ActorKind.DEBTOR


def _is_theirs(dispute: Dispute, session: Session) -> bool:
    """Whether a session may change it: a link alone changes only what it has opened itself."""
    if session.level.reaches(Level.FACT):
        return True
    is_debtors = dispute.actor_kind is ActorKind.DEBTOR
    return is_debtors and dispute.actor_id == str(session.session_id)


def _go_to(desk: Desk, visit: Visit, opened: OpenedClaim, dispute: Dispute) -> Answer:
    frame = desk.frame_opened(visit, opened)
    return desk.redirect(frame, f"/claim/disputes/{dispute.dispute_id}")
