"""A submitted dispute: its case number, its state, more files, and withdrawing it."""

from collections.abc import Sequence
from contextlib import suppress

from starlette.responses import Response

from dunwell.cases.disputes.answer_dispute import add_evidence, withdraw_dispute
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState, render_case_number
from dunwell.cases.disputes.store import list_evidence_digests
from dunwell.core.claims.store import lock_claim
from dunwell.core.files.upload import PreparedUpload
from dunwell.core.files.uploads import discard_uploads
from dunwell.interfaces.landing.disputes.receive_form import (
    FileRefusal,
    ReceivedForm,
    delete_unused_uploads,
    receive_form,
)
from dunwell.interfaces.landing.disputes.store import DISPUTE, DisputeWithFiles
from dunwell.interfaces.landing.disputes.submit_dispute import (
    build_dispute_draft_key,
    delete_draft_files,
    find_undisputed_cents,
    save_form_draft,
    send_draft_files,
)
from dunwell.interfaces.landing.disputes.views import (
    DisputeWithdrawPage,
    can_withdraw,
    describe_dispute,
    may_change,
)
from dunwell.interfaces.landing.payment.payment_choice import can_pay
from dunwell.interfaces.landing.session.drafts import SubmittedForm
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    accepts_form_with,
    in_session_with,
)
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import InvalidState, Refusal, Unavailable, ValidationError

_RETURN_PAGE = "claim"
# The values of the buttons that send or delete the saved files.
_SEND_SAVED_BUTTON, _DELETE_SAVED_BUTTON = "send-kept", "drop-kept"


@in_session_with(DISPUTE)
async def get_dispute_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    return _answer_dispute(site, request, opened, DISPUTE.decode(opened.detail))


async def add_files(site: DebtorSite, request: DebtorRequest) -> Response:
    """Add files to the dispute. The files of a form of another session are saved but not added; two
    buttons add or delete the saved files."""
    opened = await site.find_opened(request, DISPUTE)
    if opened is None:
        return site.answer_session_ended(request, None)
    dispute, is_live = DISPUTE.decode(opened.detail).dispute, site.is_live(opened)
    if opened.facts.withheld and is_live:
        return site.redirect(site.build_claim_context(request, opened), "claim")
    if not may_change(dispute, opened.session):
        return (
            site.redirect_to_verification(request, opened, _RETURN_PAGE)
            if is_live
            else site.answer_session_ended(request, opened)
        )
    received = await receive_form(site, request, opened)
    if received.is_stale or not site.is_live(received.opened):
        return await _save_late_files(site, request, dispute, received)
    button = received.fields.get("do", "")
    refusals = [*received.refusals, *await _add_new_files(site, opened, dispute, received.uploads)]
    if button == _SEND_SAVED_BUTTON:
        refusals += await _send_draft_files(site, opened, dispute)
    elif button == _DELETE_SAVED_BUTTON:
        await _delete_draft_files(site, opened, dispute)
    if refusals:
        opened = await site.find_opened(request, DISPUTE) or opened
        return _answer_dispute(
            site, request, opened, found=DISPUTE.decode(opened.detail), refusals=refusals
        )
    return _redirect_to_dispute(site, request, opened, dispute)


async def _save_late_files(
    site: DebtorSite, request: DebtorRequest, dispute: ClaimDispute, received: ReceivedForm
) -> Response:
    """Save the files of a form whose session has ended or was replaced, until the claim is opened
    again."""
    opened = received.opened
    saved: list[PreparedUpload] = []
    if opened is not None and received.uploads and dispute.state is DisputeState.OPEN:
        async with site.resources.database.transaction() as tx:
            work = site.build_work(tx, opened.merchant, opened.session.session_id)
            subject, form_id = (
                build_dispute_draft_key(work, dispute).subject,
                work.ids.new(work.real_now),
            )
            typed = SubmittedForm(subject, form_id, {}, received.uploads)
            saved = (await save_form_draft(work, dispute.claim_id, typed)).new_files
    if opened is not None:
        await delete_unused_uploads(
            site, opened, [each for each in received.uploads if each not in saved]
        )
    shown = await site.find_opened(request, DISPUTE) if site.is_live(opened) else None
    if shown is None:
        return site.answer_session_ended(request, opened, is_kept=bool(saved), are_files=True)
    found = DISPUTE.decode(shown.detail)
    cents = _find_undisputed(site, shown, found.dispute)
    page = describe_dispute(shown, found, cents, received.refusals, is_stale=True)
    return site.render_page(site.build_claim_context(request, shown), page, 409)


@in_session_with(DISPUTE)
async def redirect_to_dispute(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Redirect a GET request for an address that accepts only forms, for example after a change of
    language."""
    dispute = DISPUTE.decode(opened.detail).dispute
    return _redirect_to_dispute(site, request, opened, dispute)


@in_session_with(DISPUTE, also_withheld=True)
async def confirm_withdrawal(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    dispute = DISPUTE.decode(opened.detail).dispute
    if not can_withdraw(dispute):
        return _redirect_to_dispute(site, request, opened, dispute)
    if not may_change(dispute, opened.session):
        return site.redirect_to_verification(request, opened, _RETURN_PAGE)
    context = site.build_claim_context(request, opened)
    page = DisputeWithdrawPage(
        dispute.dispute_id, render_case_number(dispute.dispute_id), dispute.reason
    )
    return site.render_page(context, page)


@accepts_form_with(DISPUTE, also_withheld=True)
async def submit_withdrawal(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Withdraw the dispute. If it was answered meanwhile, nothing changes and its page shows the
    answer."""
    dispute = DISPUTE.decode(opened.detail).dispute
    if can_withdraw(dispute):
        if not may_change(dispute, opened.session):
            return site.redirect_to_verification(request, opened, _RETURN_PAGE)
        with suppress(InvalidState):
            async with site.resources.database.transaction() as tx:
                work = site.build_work(tx, opened.merchant, opened.session.session_id)
                await withdraw_dispute(work, opened.facts.claim_id, dispute.dispute_id)
    return _redirect_to_dispute(site, request, opened, dispute)


async def _add_new_files(
    site: DebtorSite, opened: OpenedClaim, dispute: ClaimDispute, uploads: list[PreparedUpload]
) -> list[FileRefusal]:
    """Add all of the files or none. Files that the dispute already has are skipped, so that a
    second click adds nothing. If the dispute was answered meanwhile, no file is added, and the
    dispute's page says so."""
    if not uploads:
        return []
    try:
        async with site.resources.database.transaction() as tx:
            work = site.build_work(tx, opened.merchant, opened.session.session_id)
            # The lock serializes concurrent forms.
            await lock_claim(tx, work.merchant_id, opened.facts.claim_id)
            known = await list_evidence_digests(tx, work.merchant_id, dispute.dispute_id)
            new_by_digest = {each.sha256: each for each in uploads if each.sha256 not in known}
            new = list(new_by_digest.values())
            if new:
                ticket_ids = [upload.ticket_id for upload in new]
                await add_evidence(work, opened.facts.claim_id, dispute.dispute_id, ticket_ids)
    except Unavailable:
        # The transaction may have been committed nevertheless, so the files must stay.
        raise
    except Refusal as refusal:
        await delete_unused_uploads(site, opened, uploads)
        if isinstance(refusal, ValidationError):
            return [FileRefusal("TOO_MANY")]
        if not isinstance(refusal, InvalidState):
            raise
        return []
    await delete_unused_uploads(site, opened, [upload for upload in uploads if upload not in new])
    return []


async def _send_draft_files(
    site: DebtorSite, opened: OpenedClaim, dispute: ClaimDispute
) -> list[FileRefusal]:
    """Add all saved files to the dispute or none. If the dispute was answered meanwhile, no file is
    added, and the dispute's page says so."""
    try:
        async with site.resources.database.transaction() as tx:
            await send_draft_files(
                site.build_work(tx, opened.merchant, opened.session.session_id), dispute
            )
    except ValidationError:
        return [FileRefusal("TOO_MANY")]
    except InvalidState:
        return []
    return []


async def _delete_draft_files(site: DebtorSite, opened: OpenedClaim, dispute: ClaimDispute) -> None:
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        ticket_ids = await delete_draft_files(work, dispute)
    with suppress(Unavailable):
        await discard_uploads(site.resources.database, site.storage, work.merchant_id, ticket_ids)


def _answer_dispute(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, found: DisputeWithFiles,
    refusals: Sequence[FileRefusal] = (),
) -> Response:  # fmt: skip
    page = describe_dispute(opened, found, _find_undisputed(site, opened, found.dispute), refusals)
    return site.render_page(
        site.build_claim_context(request, opened), page, 422 if refusals else 200
    )


def _find_undisputed(site: DebtorSite, opened: OpenedClaim, dispute: ClaimDispute) -> int | None:
    """Find the undisputed part, if it can be paid while the dispute is open."""
    if dispute.state is not DisputeState.OPEN or not can_pay(site, opened):
        return None
    return find_undisputed_cents(dispute, opened.facts, opened.merchant.configuration)


def _redirect_to_dispute(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, dispute: ClaimDispute
) -> Response:
    context = site.build_claim_context(request, opened)
    return site.redirect(context, "dispute", dispute_id=dispute.dispute_id)


PAGES: RoutedPages = {
    "dispute": {"GET": get_dispute_page},
    "dispute_files": {"GET": redirect_to_dispute, "POST": add_files},
    "dispute_withdraw": {"GET": confirm_withdrawal, "POST": submit_withdrawal},
}
