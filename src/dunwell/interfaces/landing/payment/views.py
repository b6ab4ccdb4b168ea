"""What the pages about payments show."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.cases.payments.choice import PartBounds, PayableGroup, PaymentChoice
from dunwell.cases.payments.record_payment import render_provider_name
from dunwell.cases.payments.requests.request_states import PaymentReceipt, ReceiptPayment
from dunwell.contact.messages.identities import mask_address
from dunwell.interfaces.landing.payment.payment_choice import (
    PaymentOptions,
    RefusedChoice,
    ShownMethod,
    render_choice,
)
from dunwell.interfaces.landing.session.facts import PageItem
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import PaymentOutcome, decide_outcome, is_closed
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.web.templates import Page


class AmountPage(Page, frozen=True):
    template: ClassVar[str] = "pay_amount.html"

    currency: str
    outstanding_cents: int
    # None if the debtor cannot enter an amount.
    bounds: PartBounds | None
    # Empty if the debtor cannot choose items.
    groups: Sequence[PayableGroup]
    typed: str
    # The ids of the selected items. None selects all, before the debtor has chosen.
    ticked: Collection[str] | None
    refused: RefusedChoice | None


class ShownChoice(msgspec.Struct, frozen=True, gc=False):
    """The chosen amount, on the pages that follow the choice."""

    cents: int
    currency: str
    reference: str
    # The chosen items. Empty if an amount or the whole claim was chosen.
    items: Sequence[PageItem]
    # The query parameter or form field that holds the choice.
    choice_fields: Mapping[str, str]


class PaymentCheckPage(Page, frozen=True):
    """`notice` is CHANGED if the amount has changed, and UNAVAILABLE if the provider cannot be
    reached.
    """

    template: ClassVar[str] = "pay.html"

    choice: ShownChoice
    remaining_cents: int
    methods: Sequence[ShownMethod]
    accepts_transfers: bool
    notice: str | None


class TransferPage(Page, frozen=True):
    template: ClassVar[str] = "transfer.html"

    choice: ShownChoice
    iban: str
    # True if there is a QR code for banking apps.
    has_picture: bool


class TransferDatePage(Page, frozen=True):
    """The form that asks when a transfer was sent."""

    template: ClassVar[str] = "transfer_date.html"

    choice: ShownChoice
    today: date
    yesterday: date
    # The chosen option: today or yesterday as an ISO date, or the value of `other`.
    sent: str
    other: str
    # The entered day, month and year, if the debtor chose the option `other`.
    typed: Mapping[str, str]
    # UNREADABLE, IN_FUTURE, TOO_EARLY, or TOO_OFTEN: the claim has been put on hold for an
    # announced transfer before.
    fault: str | None


class TransferSentPage(Page, frozen=True):
    """An announced transfer that has not arrived."""

    template: ClassVar[str] = "transfer_sent.html"

    amount_cents: int
    currency: str
    sent_on: date
    # The day by which the payment is recorded if it was sent.
    recorded_on: date


class ReturnPage(Page, frozen=True):
    """The state of a payment after the return from the provider."""

    template: ClassVar[str] = "payment_return.html"

    request_id: UUID
    outcome: PaymentOutcome
    provider: str
    currency: str
    amount_cents: int
    outstanding_cents: int
    can_pay: bool
    is_closed: bool


class ReceiptPage(Page, frozen=True):
    template: ClassVar[str] = "receipt.html"

    request_id: UUID
    payment: ReceiptPayment
    method: str
    reference: str
    currency: str
    timezone: str
    outstanding_cents: int
    is_closed: bool
    shows_details: bool
    # The masked address for a copy. None if there is no e-mail address or the session may not see
    # it.
    masked: str | None
    # The outcome of sending a copy: sent or refused.
    copy: str | None


def describe_amount(
    opened: OpenedClaim, options: PaymentOptions, typed: str, ticked: Collection[str] | None,
    refused: RefusedChoice | None,
) -> AmountPage:  # fmt: skip
    return AmountPage(
        currency=opened.facts.currency,
        outstanding_cents=options.outstanding_cents,
        bounds=options.bounds,
        groups=options.groups,
        typed=typed,
        ticked=() if refused is RefusedChoice.NO_ITEM else ticked,
        refused=refused,
    )


def describe_choice(opened: OpenedClaim, choice: PaymentChoice) -> ShownChoice:
    facts = opened.facts
    name, _, value = render_choice(choice).partition("=")
    return ShownChoice(
        cents=choice.cents,
        currency=facts.currency,
        reference=facts.reference_number,
        items=[item for item in facts.items if item.item_id in choice.item_ids],
        choice_fields={name: value},
    )


def describe_return(opened: OpenedClaim, receipt: PaymentReceipt, *, can_pay: bool) -> ReturnPage:
    return ReturnPage(
        request_id=receipt.request_id,
        outcome=decide_outcome(receipt.state),
        provider=render_provider_name(receipt.provider_name),
        currency=opened.facts.currency,
        amount_cents=receipt.amount_cents,
        outstanding_cents=opened.facts.outstanding_cents,
        can_pay=can_pay,
        is_closed=is_closed(opened.facts),
    )


def describe_receipt(
    opened: OpenedClaim, receipt: PaymentReceipt, payment: ReceiptPayment, copy: str | None
) -> ReceiptPage:
    facts, email = opened.facts, find_copy_address(opened)
    return ReceiptPage(
        request_id=receipt.request_id,
        payment=payment,
        method=describe_method(opened, receipt, payment),
        reference=facts.reference_number,
        currency=facts.currency,
        timezone=opened.merchant.configuration.timezone,
        outstanding_cents=facts.outstanding_cents,
        is_closed=is_closed(facts),
        shows_details=opened.session.level.reaches(Level.FACT),
        masked=None if email is None else mask_address("EMAIL", email),
        copy=copy,
    )


def find_copy_address(opened: OpenedClaim) -> str | None:
    """Find the e-mail address for a copy. Return None if none is on file or the session may not see
    it."""
    return opened.facts.on_file.email if opened.session.level.reaches(Level.FACT) else None


def describe_method(opened: OpenedClaim, receipt: PaymentReceipt, payment: ReceiptPayment) -> str:
    """Name the provider. The payment method is added only if the session may see it."""
    method = payment.method if opened.session.level.reaches(Level.FACT) else None
    return ", ".join(filter(None, (render_provider_name(receipt.provider_name), method)))
