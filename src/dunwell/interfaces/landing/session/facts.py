"""The facts that pages show about one claim and its debtor, as plain values. Pure."""

from collections.abc import Mapping
from datetime import date, datetime
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.disputes.dispute import DisputeState
from dunwell.cases.disputes.reasons import DisputeType
from dunwell.core.claims.states import HoldKind, Status


class OnFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The debtor's data on file that addresses and proofs are taken from."""

    email: str | None = None
    mobile_number: str | None = None
    postal_address: Mapping[str, str | None] | None = None
    # In the form 1987-03-04.
    date_of_birth: str | None = None
    contract_number: str | None = None
    customer_number: str | None = None

    def find(self, channel: str) -> str | None:
        """Return the address for this channel, EMAIL or SMS."""
        return self.email if channel == "EMAIL" else self.mobile_number

    @property
    def postal_code(self) -> str | None:
        return (self.postal_address or {}).get("postal_code")


class PageItem(msgspec.Struct, frozen=True, array_like=True, gc=False):
    type: str
    value_cents: int
    reference: str | None
    item_on: date | None
    due_on: date | None
    allocated_cents: int
    item_id: int
    # The item that the fee was added for.
    fee_of: int | None


class PaymentFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    amount_cents: int
    paid_at: datetime
    # None if the payment was not made on these pages. Then there is no receipt.
    request_id: UUID | None


class HoldFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    kind: HoldKind
    until: datetime | None
    since: datetime
    hold_id: UUID | None = None


class RequestFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The claim's newest payment request."""

    request_id: UUID
    provider: str
    amount_cents: int
    state: str
    # Set only for an announced bank transfer.
    sent_on: date | None = None


class DisputeFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A dispute that is open."""

    dispute_id: UUID
    type: DisputeType
    opened_at: datetime
    answers: dict[str, str] = {}


class AnswerFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The answer to the claim's latest dispute."""

    dispute_id: UUID
    is_accepted: bool
    answered_at: datetime
    # The merchant's explanation.
    resolution: str | None = None


class WithheldFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The dispute because of which the page shows nothing of the claim
    (`cases.disputes.wrong_person`).
    """

    dispute_id: UUID
    reason: str
    opened_at: datetime
    state: DisputeState
    actor_kind: ActorKind
    actor_id: str | None
    is_address_suppressed: bool


class PageClaim(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    claim_id: int
    reference_number: str
    currency: str
    status: Status
    first_name: str | None
    last_name: str | None
    company_name: str | None
    language: str | None
    items: list[PageItem]
    # Payments that were not reversed, the oldest first.
    payments: list[PaymentFacts]
    # Holds that were not lifted. Some of them may have reached their end.
    holds: list[HoldFacts]
    request: RequestFacts | None
    # The workflow's id and its major version.
    workflow_key: tuple[UUID, int] | None = None
    on_file: OnFile = OnFile()
    # No instalment and no deferred payment may be due after this day.
    max_deferral_on: date | None = None
    # Open disputes, the oldest first.
    disputes: list[DisputeFacts] = []
    answer: AnswerFacts | None = None
    # None if this session may see the claim.
    withheld: WithheldFacts | None = None
    document_count: int = 0
    # False if the claim never had a modality or a dispute. Pages then do not load them.
    has_modalities: bool = True
    has_disputes: bool = True

    @property
    def total_cents(self) -> int:
        return sum(item.value_cents for item in self.items)

    @property
    def outstanding_cents(self) -> int:
        return self.total_cents - sum(item.allocated_cents for item in self.items)

    @property
    def paid_cents(self) -> int:
        return sum(payment.amount_cents for payment in self.payments)

    @property
    def due_on(self) -> date | None:
        """Return the due date of the first PRIMARY item."""
        for item in self.items:
            if item.type == "PRIMARY":
                return item.due_on
        return None
