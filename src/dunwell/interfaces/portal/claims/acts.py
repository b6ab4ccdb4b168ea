"""What can be done to one claim by a form: what each form asks, how it is read, and the use case it
calls. What a use case refuses is told beside the field it is about."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from uuid import uuid4
from zoneinfo import ZoneInfo

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import NewDispute, check_new_dispute
from dunwell.cases.disputes.open_dispute import open_dispute
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.payments.record_payment import NewPayment, record_payment
from dunwell.cases.replies.take_reply import see_replies
from dunwell.contact.escalation.end_claim import archive_claim, withdraw_claim
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from dunwell.core.claims.fields import ContactData, DebtorFields
from dunwell.core.claims.notes import add_note
from dunwell.core.claims.read_claim import ClaimView
from dunwell.interfaces.portal.render.labels import FAULT_TEXTS
from dunwell.interfaces.portal.web.paging import read_day
from dunwell.interfaces.web.amounts import read_amount, render_plain
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.texts import is_line

# Field -> the code of a fault, or its words.
Faults = list[tuple[str, str]]
_ADDRESS = ("street", "addressLine2", "postalCode", "city", "country")
_CONTACT = (
    "salutation", "debtorName", "debtorLastName", "companyName", "email", "mobileNumber",
    "language", "dateOfBirth", "customerNumber", "contractNumber",
)  # fmt: skip


@dataclass(slots=True)
class Typed:
    """A form as it was sent: its texts, what is wrong with them, and what it was sent about."""

    fields: FormFields
    claim: ClaimView
    language: str
    keys: KeyRing
    faults: Faults = field(default_factory=list)

    def text(self, name: str) -> str:
        return self.fields.text(name)

    def need(self, name: str) -> str:
        text = self.text(name)
        if not text:
            self.faults.append((name, "REQUIRED"))
        return text

    def line(self, name: str) -> str:
        """As the API takes it; may be empty."""
        text = self.text(name)
        if not is_line(text):
            self.faults.append((name, "LINE"))
        return text

    def day(self, name: str) -> date | None:
        text = self.text(name)
        if not text:
            return None
        day = read_day(text)
        if day is None:
            self.faults.append((name, "DAY"))
        return day

    def cents(self, name: str) -> int:
        cents = read_amount(self.text(name), self.claim.currency, self.language)
        if cents is None or cents <= 0:
            self.faults.append((name, "AMOUNT"))
        return cents or 0


def place_fault(fault: Fault) -> tuple[str, str]:
    """Return the fault's field, which is the last part of its JSON pointer, and its text."""
    return fault.path.rpartition("/")[2], FAULT_TEXTS.get(fault.code, fault.message)


Do = Callable[[Work, Typed], Awaitable[Callable[[], Awaitable[object]]]]
Fill = Callable[[ClaimView, str], Mapping[str, str]]


def _fill_nothing(_claim: ClaimView, _language: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Act:
    """prepare: reads the form, notes its faults, and gives back what does it. names: its fields.
    right: whoever has it sees the form; the use case asks for it again."""

    right: Right
    names: tuple[str, ...]
    prepare: Do
    fill: Fill = _fill_nothing
    # For claims in process alone.
    is_for_active: bool = False


def _compose_patch(typed: Typed) -> dict[str, object]:
    """All that the form shows, as a merge patch."""
    patch: dict[str, object] = {name: typed.text(name) or None for name in _CONTACT}
    patch["address"] = {name: typed.text(name) or None for name in _ADDRESS}
    return patch


def fill_contact(claim: ClaimView, _language: str = "") -> dict[str, str]:
    """What is stored, by the names of the form."""
    document = msgspec.to_builtins(_take_contact(claim.debtor))
    address = document.get("address") or {}
    return {name: str(document.get(name) or "") for name in _CONTACT} | {
        name: str(address.get(name) or "") for name in _ADDRESS
    }


def _take_contact(debtor: DebtorFields) -> ContactData:
    return ContactData(**{name: getattr(debtor, name) for name in ContactData.__struct_fields__})


def _fill_payment(claim: ClaimView, language: str) -> Mapping[str, str]:
    left = claim.balance.outstanding_cents
    return {"amount": render_plain(left, claim.currency, language) if left else ""}


async def _pay(work: Work, typed: Typed) -> Callable[[], Awaitable[object]]:
    cents, on = typed.cents("amount"), typed.day("on")
    zone = ZoneInfo(work.merchant.configuration.timezone)
    paid_at = None
    if on is not None and on < work.now.astimezone(zone).date():
        paid_at = datetime.combine(on, time(12), zone).astimezone(UTC)
    elif on is not None and on > work.now.astimezone(zone).date():
        typed.faults.append(("on", "FUTURE"))
    # Without a number of the bank's every payment is one of its own; the form's id keeps a second
    # click from being a second payment.
    transaction_id = typed.line("number") or f"portal-{typed.line('form_id') or uuid4()}"
    new = NewPayment(
        amount_cents=cents, currency=typed.claim.currency, transaction_id=transaction_id,
        provider_name="BANK_TRANSFER", paid_at=paid_at,
    )  # fmt: skip
    return lambda: record_payment(work, typed.claim.claim_id, new)


async def _dispute(work: Work, typed: Typed) -> Callable[[], Awaitable[object]]:
    new = NewDispute(typed.need("reason"), typed.text("message") or None)
    try:
        check_new_dispute(new, work.merchant.configuration.disputes, work.actor.kind)
    except ValidationError as refusal:
        # The form's field for the type is called reason.
        placed = [place_fault(each) for each in refusal.faults]
        typed.faults += [("reason" if name == "type" else name, said) for name, said in placed]
    return lambda: open_dispute(work, typed.keys, typed.claim.claim_id, new)


async def _pause(work: Work, typed: Typed) -> Callable[[], Awaitable[object]]:
    on, until = typed.day("until"), None
    if on is not None:
        zone = ZoneInfo(work.merchant.configuration.timezone)
        until = datetime.combine(on, time(), zone).astimezone(UTC)
        if until <= work.now:
            typed.faults.append(("until", "PAST"))
    reason = typed.line("reason") or None
    return lambda: pause_claim(work, typed.claim.claim_id, until=until, reason=reason)


async def _resume(work: Work, typed: Typed) -> Callable[[], Awaitable[object]]:
    return lambda: resume_claim(work, typed.claim.claim_id)


async def _end(work: Work, typed: Typed) -> Callable[[], Awaitable[object]]:
    how = typed.need("how")
    run = {"archive": archive_claim, "withdraw": withdraw_claim}.get(how)
    if how and run is None:
        typed.faults.append(("how", "REQUIRED"))
    return lambda: (run or archive_claim)(work, typed.claim.claim_id)


async def _change_contact(work: Work, typed: Typed) -> Callable[[], Awaitable[object]]:
    patch = _compose_patch(typed)
    return lambda: change_contact_data(work, typed.claim.claim_id, patch)


async def _note(work: Work, typed: Typed) -> Callable[[], Awaitable[object]]:
    text = typed.need("text")
    return lambda: add_note(work, typed.claim.claim_id, text)


async def _see_answers(work: Work, typed: Typed) -> Callable[[], Awaitable[object]]:
    return lambda: see_replies(work, typed.claim.claim_id)


ACTS: Mapping[str, Act] = {
    "payment": Act(Right.RECORD_MONEY, ("amount", "on", "number", "form_id"), _pay, _fill_payment),
    "dispute": Act(Right.CHANGE_CLAIMS, ("reason", "message"), _dispute, is_for_active=True),
    "pause": Act(Right.CHANGE_CLAIMS, ("until", "reason"), _pause, is_for_active=True),
    "resume": Act(Right.CHANGE_CLAIMS, (), _resume, is_for_active=True),
    "end": Act(Right.CHANGE_CLAIMS, ("how",), _end, is_for_active=True),
    "contact": Act(Right.CHANGE_CLAIMS, (*_CONTACT, *_ADDRESS), _change_contact, fill_contact),
    "note": Act(Right.CHANGE_CLAIMS, ("text",), _note),
    "answers": Act(Right.CHANGE_CLAIMS, (), _see_answers),
}
