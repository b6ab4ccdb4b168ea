"""What the pages of paying show."""

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
    # None: no part of one's own choice.
    bounds: PartBounds | None
    # Empty: no items to choose among.
    groups: Sequence[PayableGroup]
    typed: str
    # The ids of items that were ticked; none: nobody has chosen yet, and all are.
    ticked: Collection[str] | None
    refused: RefusedChoice | None


class ShownChoice(msgspec.Struct, frozen=True, gc=False):
    """What is to be paid, on a page that carries it on."""

    cents: int
    currency: str
    reference: str
    # Those chosen, where items were.
    items: Sequence[PageItem]
    # As addresses and forms carry it.
    carried: Mapping[str, str]


class PaymentCheckPage(Page, frozen=True):
    """notice: the amount has CHANGED, or the provider is AWAY."""

    template: ClassVar[str] = "pay.html"

    choice: ShownChoice
    rest_cents: int
    methods: Sequence[ShownMethod]
    takes_transfers: bool
    notice: str | None


class TransferPage(Page, frozen=True):
    template: ClassVar[str] = "transfer.html"

    choice: ShownChoice
    iban: str
    # Whether there is a picture of it for banking apps.
    has_picture: bool


class TransferDatePage(Page, frozen=True):
    """When a transfer was sent."""

    template: ClassVar[str] = "sent_form.html"

    choice: ShownChoice
    today: date
    yesterday: date
    # The day that was chosen, or what is chosen for one of one's own.
    sent: str
    other: str
    # The fields of such a day, by name.
    typed: Mapping[str, str]
    # UNREADABLE, IN_FUTURE, TOO_EARLY; TOO_OFTEN: no second time is waited.
    fault: str | None


class TransferSentPage(Page, frozen=True):
    """A transfer that is waited for."""

    template: ClassVar[str] = "sent.html"

    amount_cents: int
    currency: str
    sent_on: date
    # The last day on which it may arrive.
    known_on: date


class ReturnPage(Page, frozen=True):
    """What a provider is known to have made of a payment."""

    template: ClassVar[str] = "back.html"

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
    shows_all: bool
    # Where a copy may go; none: nowhere, or not for a link alone.
    masked: str | None
    # Of a copy that was asked for: sent or refused.
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
        carried={name: value},
    )


def describe_return(opened: OpenedClaim, receipt: PaymentReceipt, *, can_pay: bool) -> ReturnPage:
    return ReturnPage(
        request_id=receipt.request_id,
        outcome=decide_outcome(receipt.state),
        provider=render_provider_name(receipt.provider),
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
        shows_all=opened.session.level.reaches(Level.FACT),
        masked=None if email is None else mask_address("EMAIL", email),
        copy=copy,
    )


def find_copy_address(opened: OpenedClaim) -> str | None:
    """Where a copy may go; None: nowhere, or not for a link alone."""
    return opened.facts.on_file.email if opened.session.level.reaches(Level.FACT) else None


def describe_method(opened: OpenedClaim, receipt: PaymentReceipt, payment: ReceiptPayment) -> str:
    """What it was paid with is not for a link alone."""
    method = payment.method if opened.session.level.reaches(Level.FACT) else None
    return ", ".join(filter(None, (render_provider_name(receipt.provider), method)))
