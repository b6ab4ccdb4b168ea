"""The actions on one claim. Each has a form, a function that parses it, and a use case."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from uuid import uuid4
from zoneinfo import ZoneInfo

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import NewDispute, check_new_dispute
from dunwell.cases.disputes.open_dispute import open_dispute
from dunwell.cases.disputes.reasons import list_reasons
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.payments.record_payment import NewPayment, record_payment
from dunwell.cases.replies.receive_reply import mark_replies_read
from dunwell.contact.escalation.end_claim import archive_claim, withdraw_claim
from dunwell.core.claims.access import (
    ClaimView,
    check_unchanged,
    get_claim,
    load_claim_revision,
    parse_last_change,
)
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from dunwell.core.claims.fields import ContactData, DebtorFields
from dunwell.core.claims.notes import add_note
from dunwell.interfaces.portal.claims.views import ClaimActionPage, describe_head
from dunwell.interfaces.portal.render.labels import FAULT_TEXTS
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    open_claim,
    parse_claim_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import parse_day
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.amounts import parse_amount, render_typed_amount
from dunwell.interfaces.web.forms import FormFields
from dunwell.operations.claim_status.timeline import TimelineEvent, list_timeline
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import EditConflict, Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.texts import is_line

# Pairs of a field name and the code or the text of its fault.
Faults = list[tuple[str, str]]
_ADDRESS = ("street", "addressLine2", "postalCode", "city", "country")
_CONTACT = (
    "salutation", "debtorName", "debtorLastName", "companyName", "email", "mobileNumber",
    "language", "dateOfBirth", "customerNumber", "contractNumber",
)  # fmt: skip


@dataclass(slots=True)
class SubmittedClaimForm:
    """A submitted form, its claim, and the faults found so far."""

    fields: FormFields
    claim: ClaimView
    language: str
    keys: KeyRing
    faults: Faults = field(default_factory=list)

    def text(self, name: str) -> str:
        return self.fields.text(name)

    def required_text(self, name: str) -> str:
        """Return the text of a field. An empty field is a fault."""
        text = self.text(name)
        if not text:
            self.faults.append((name, "REQUIRED"))
        return text

    def line(self, name: str) -> str:
        """Return the text of a field, which may be empty but must be one line as the API
        requires it."""
        text = self.text(name)
        if not is_line(text):
            self.faults.append((name, "LINE"))
        return text

    def day(self, name: str) -> date | None:
        text = self.text(name)
        if not text:
            return None
        day = parse_day(text)
        if day is None:
            self.faults.append((name, "DAY"))
        return day

    def cents(self, name: str) -> int:
        cents = parse_amount(self.text(name), self.claim.currency, self.language)
        if cents is None or cents <= 0:
            self.faults.append((name, "AMOUNT"))
        return cents or 0


def split_fault(fault: Fault) -> tuple[str, str]:
    """Return the fault's field, which is the last part of its JSON pointer, and its text."""
    return fault.path.rpartition("/")[2], FAULT_TEXTS.get(fault.code, fault.message)


ApplyAction = Callable[[], Awaitable[object]]
PrepareAction = Callable[[Work, SubmittedClaimForm], Awaitable[ApplyAction]]
FillForm = Callable[[ClaimView, str], Mapping[str, str]]


def _fill_no_field(_claim: ClaimView, _language: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class ClaimAction:
    """An action on a claim, with its form.

    `prepare` parses the form, records its faults, and returns the function that applies it.
    `field_names` are the fields of the form. `right` is required to see the form; the use case
    checks it again.
    """

    right: Right
    field_names: tuple[str, ...]
    prepare: PrepareAction
    fill: FillForm = _fill_no_field
    # True if the form is offered for claims in process only.
    is_for_active: bool = False


def _build_patch(form: SubmittedClaimForm) -> dict[str, object]:
    """Return all values of the form as a merge patch."""
    patch: dict[str, object] = {name: form.text(name) or None for name in _CONTACT}
    patch["address"] = {name: form.text(name) or None for name in _ADDRESS}
    return patch


def fill_contact(claim: ClaimView, _language: str = "") -> dict[str, str]:
    """Return the stored values by the form's field names."""
    document = msgspec.to_builtins(_get_contact_data(claim.debtor))
    address = document.get("address") or {}
    return {name: str(document.get(name) or "") for name in _CONTACT} | {
        name: str(address.get(name) or "") for name in _ADDRESS
    }


def _get_contact_data(debtor: DebtorFields) -> ContactData:
    return ContactData(**{name: getattr(debtor, name) for name in ContactData.__struct_fields__})


def _fill_payment(claim: ClaimView, language: str) -> Mapping[str, str]:
    outstanding_cents = claim.balance.outstanding_cents
    return {
        "amount": render_typed_amount(outstanding_cents, claim.currency, language)
        if outstanding_cents
        else ""
    }


async def _prepare_payment(work: Work, form: SubmittedClaimForm) -> ApplyAction:
    cents, on = form.cents("amount"), form.day("on")
    zone = ZoneInfo(work.merchant.configuration.timezone)
    paid_at = None
    if on is not None and on < work.now.astimezone(zone).date():
        paid_at = datetime.combine(on, time(12), zone).astimezone(UTC)
    elif on is not None and on > work.now.astimezone(zone).date():
        form.faults.append(("on", "FUTURE"))
    # Without a payment reference, each submitted form is a separate payment. The form's id prevents
    # a double click from recording it twice.
    transaction_id = form.line("number") or f"portal-{form.line('form_id') or uuid4()}"
    new = NewPayment(
        amount_cents=cents, currency=form.claim.currency, transaction_id=transaction_id,
        provider_name="BANK_TRANSFER", paid_at=paid_at,
    )  # fmt: skip
    return lambda: record_payment(work, form.claim.claim_id, new)


async def _prepare_dispute(work: Work, form: SubmittedClaimForm) -> ApplyAction:
    new = NewDispute(form.required_text("reason"), form.text("message") or None)
    try:
        check_new_dispute(new, work.merchant.configuration.disputes, work.actor.kind)
    except ValidationError as refusal:
        # The form's field for the type is called "reason".
        located = [split_fault(each) for each in refusal.faults]
        form.faults += [("reason" if name == "type" else name, text) for name, text in located]
    return lambda: open_dispute(work, form.keys, form.claim.claim_id, new)


async def _prepare_pause(work: Work, form: SubmittedClaimForm) -> ApplyAction:
    on, until = form.day("until"), None
    if on is not None:
        zone = ZoneInfo(work.merchant.configuration.timezone)
        until = datetime.combine(on, time(), zone).astimezone(UTC)
        if until <= work.now:
            form.faults.append(("until", "PAST"))
    reason = form.line("reason") or None
    return lambda: pause_claim(work, form.claim.claim_id, until=until, reason=reason)


async def _prepare_resume(work: Work, form: SubmittedClaimForm) -> ApplyAction:
    return lambda: resume_claim(work, form.claim.claim_id)


async def _prepare_closing(work: Work, form: SubmittedClaimForm) -> ApplyAction:
    how = form.required_text("how")
    apply = {"archive": archive_claim, "withdraw": withdraw_claim}.get(how)
    if how and apply is None:
        form.faults.append(("how", "REQUIRED"))
    return lambda: (apply or archive_claim)(work, form.claim.claim_id)


async def _prepare_contact_change(work: Work, form: SubmittedClaimForm) -> ApplyAction:
    patch = _build_patch(form)
    return lambda: change_contact_data(work, form.claim.claim_id, patch)


async def _prepare_note(work: Work, form: SubmittedClaimForm) -> ApplyAction:
    text = form.required_text("text")
    return lambda: add_note(work, form.claim.claim_id, text)


async def _prepare_marking_replies(work: Work, form: SubmittedClaimForm) -> ApplyAction:
    return lambda: mark_replies_read(work, form.claim.claim_id)


CLAIM_ACTIONS: Mapping[str, ClaimAction] = {
    "payment": ClaimAction(
        Right.RECORD_MONEY, ("amount", "on", "number", "form_id"), _prepare_payment, _fill_payment
    ),
    "dispute": ClaimAction(
        Right.CHANGE_CLAIMS, ("reason", "message"), _prepare_dispute, is_for_active=True
    ),
    "pause": ClaimAction(
        Right.CHANGE_CLAIMS, ("until", "reason"), _prepare_pause, is_for_active=True
    ),
    "resume": ClaimAction(Right.CHANGE_CLAIMS, (), _prepare_resume, is_for_active=True),
    "end": ClaimAction(Right.CHANGE_CLAIMS, ("how",), _prepare_closing, is_for_active=True),
    "contact": ClaimAction(
        Right.CHANGE_CLAIMS, (*_CONTACT, *_ADDRESS), _prepare_contact_change, fill_contact
    ),
    "note": ClaimAction(Right.CHANGE_CLAIMS, ("text",), _prepare_note),
    "answers": ClaimAction(Right.CHANGE_CLAIMS, (), _prepare_marking_replies),
}


@at_merchant
async def get_action_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    action, claim_id = _get_action(request, access), parse_claim_id(request)
    async with site.open_work(access) as work:
        revision = await load_claim_revision(work, claim_id)
        view = await open_claim(work, access, claim_id)
    if action.is_for_active and not describe_head(view).is_active:
        return site.redirect(request, access, "claim", claim_id=claim_id)
    language = site.build_context(request, access).language
    values = {**dict.fromkeys(action.field_names, ""), **action.fill(view, language)}
    if "form_id" in values:
        values["form_id"] = str(site.resources.ids.new(site.now()))
    return _render_page(site, request, access, (view, revision), values=values)


@takes_form_at_merchant
async def submit_action(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Apply the form.

    The claim is locked. If it has not changed since the form was opened, the form is parsed and
    applied in the same transaction. On a fault or a conflict, the form is shown again with
    everything that was typed.
    """
    action, claim_id = _get_action(request, access), parse_claim_id(request)
    language, faults, status = (
        site.build_context(request, access).language,
        list[tuple[str, str]](),
        422,
    )
    try:
        async with site.open_work(access) as work:
            await check_unchanged(work, claim_id, fields["revision"])
            claim = await get_claim(work, claim_id)
            form = SubmittedClaimForm(fields, claim, language, site.resources.keys)
            apply = await action.prepare(work, form)
            faults = form.faults
            if not faults:
                await apply()
                name = request.path_params["act"]
                return site.redirect(request, access, "claim", claim_id=claim_id, done=name)
    except EditConflict:
        return await _render_conflict_page(site, request, access, fields)
    except ValidationError as refusal:
        faults, status = [split_fault(each) for each in refusal.faults], 422
    except InvalidState as refusal:
        faults, status = [("", refusal.text)], 409
    async with site.open_work(access) as work:
        revision = await load_claim_revision(work, claim_id)
        view = await open_claim(work, access, claim_id)
    values = {name: fields.text(name) for name in action.field_names}
    return _render_page(
        site, request, access, (view, revision), values=values, faults=faults, status=status
    )


async def _render_conflict_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Show the form again with what was typed and what is stored now."""
    action, claim_id = _get_action(request, access), parse_claim_id(request)
    async with site.open_work(access) as work:
        revision = await load_claim_revision(work, claim_id)
        view = await open_claim(work, access, claim_id)
        timeline = await list_timeline(work, claim_id)
    changed = [each for each in timeline if each.at >= parse_last_change(fields["revision"])]
    values = {name: fields.text(name) for name in action.field_names}
    return _render_page(
        site,
        request,
        access,
        (view, revision),
        values=values,
        changed=changed[:10],
        is_conflict=True,
        status=409,
    )


def _render_page(  # noqa: PLR0913 - one parameter for each part of the page
    site: PortalSite, request: PortalRequest, access: MerchantAccess,
    view_and_revision: tuple[ClaimView, str], *,
    values: dict[str, str], faults: Sequence[tuple[str, str]] = (),
    changed: Sequence[TimelineEvent] = (), is_conflict: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    name, (view, revision) = request.path_params["act"], view_and_revision
    stored = fill_contact(view) if name == "contact" and is_conflict else {}
    page = ClaimActionPage(
        action=name,
        head=describe_head(view),
        revision=revision,
        values=values,
        faults=faults,
        changed=changed,
        is_conflict=is_conflict,
        stored={field: text for field, text in stored.items() if text != values.get(field)},
        reasons=[each.name for each in list_reasons(access.merchant.configuration.disputes)],
    )
    return site.render_merchant_page(request, access, page, status)


def _get_action(request: PortalRequest, access: MerchantAccess) -> ClaimAction:
    """Return the action that the URL names. Raises NotFound, also if the user may not use it."""
    action = CLAIM_ACTIONS.get(request.path_params["act"])
    if action is None or not access.may(action.right):
        raise NotFound("There is no such form.")
    return action


PAGES: RoutedPages = {"claim_act": {"GET": get_action_page, "POST": submit_action}}
