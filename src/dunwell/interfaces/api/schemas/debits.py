"""Mandates and collections of direct debits on the wire."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.platform.text.wire import Currency, Day, Instant, Uuid, Wire

MandateStateName = Literal["REQUESTED", "ACTIVE", "REVOKED", "FAILED", "EXPIRED"]
MandateEndName = Literal["REVOKED", "RETURNED", "UNUSED", "PLAN_ENDED", "ACCOUNT_CLOSED"]
CollectionStateName = Literal[
    "PLANNED", "PRENOTIFIED", "RELEASED", "DELIVERED", "COLLECTED", "RETURNED", "CANCELLED"
]
CollectionCancelName = Literal[
    "MANDATE_ENDED", "PLAN_ENDED", "PAID", "NOT_NOTIFIED", "NOT_RELEASED", "DISPUTED", "HELD_BACK"
]


class DebitMandate(Wire, frozen=True):
    """A debtor's mandate for direct debits of the instalments of a payment plan."""

    id: Annotated[Uuid, Meta(description="The `mandateId` of events.")]
    claim_id: int
    reference_number: Annotated[str, Meta(description="The claim's reference.")]
    modality_id: Annotated[Uuid, Meta(description="The payment plan.")]
    provider_name: Annotated[
        str, Meta(description="DIRECT_DEBIT: your bank collects. Otherwise the provider's kind.")
    ]
    provider_mandate_id: Annotated[
        str | None,
        Meta(description="The provider's id of the mandate; null if your bank collects."),
    ]
    reference: Annotated[
        str, Meta(description="The mandate reference, as the debtor and the banks know it.")
    ]
    creditor_id: Annotated[
        str,
        Meta(description="The creditor identifier; the account's name if a provider collects."),
    ]
    account: Annotated[
        str,
        Meta(
            description=(
                "The debtor's account: its country and its last four digits, or what the provider "
                "shows of it."
            )
        ),
    ]
    state: MandateStateName
    text: Annotated[
        str,
        Meta(
            description=(
                "The text that the debtor accepted. Empty if the mandate was given on a provider's "
                "page."
            )
        ),
    ]
    language: Annotated[str, Meta(description="The language of the text.")]
    signed_at: Instant
    expires_on: Annotated[Day, Meta(description="The last day on which it can be used.")]
    ended_at: Instant | None
    ended_reason: Annotated[
        MandateEndName | None,
        Meta(
            description=(
                "REVOKED: by the debtor, or by your staff for the debtor. RETURNED: the bank "
                "returned a debit and would return every further one, or refused the mandate. "
                "UNUSED: for 36 months, or the provider says so. PLAN_ENDED: the payment plan has "
                "ended. ACCOUNT_CLOSED: the account at the provider is closed. Null while it is "
                "valid."
            )
        ),
    ]


class DebitMandateList(Wire, frozen=True):
    """A page of mandates, newest first."""

    items: list[DebitMandate]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class DebitCollection(Wire, frozen=True):
    """The direct debit of one instalment."""

    id: Uuid
    claim_id: int
    reference_number: Annotated[str, Meta(description="The claim's reference.")]
    mandate_id: Uuid
    modality_id: Annotated[Uuid, Meta(description="The payment plan.")]
    provider_name: Annotated[
        str, Meta(description="DIRECT_DEBIT: your bank collects. Otherwise the provider's kind.")
    ]
    provider_payment_id: Annotated[
        str | None,
        Meta(
            description=(
                "The provider's id of the payment; null if it is not ordered yet, or your bank "
                "collects."
            )
        ),
    ]
    instalment: Annotated[int, Meta(ge=1, description="The instalment's number in the plan.")]
    due_date: Annotated[Day, Meta(description="The day on which the instalment is due.")]
    collection_date: Annotated[Day, Meta(description="The day on which the account is debited.")]
    amount: Annotated[int, Meta(description="Minor units, an integer.")]
    currency: Currency
    state: Annotated[
        CollectionStateName,
        Meta(
            description=(
                "PLANNED: the debtor has not been notified yet. PRENOTIFIED: it waits for its "
                "release. RELEASED: it is to be passed on to the bank or the provider. DELIVERED: "
                "the bank or the provider has it. COLLECTED: you have the money, and it is a "
                "payment. RETURNED: it was rejected or returned. CANCELLED: it is not made. What a "
                "provider collects is never PRENOTIFIED: the provider notifies the debtor, and "
                "no release is needed."
            )
        ),
    ]
    end_to_end_id: Annotated[
        str, Meta(description="Names it on statements, if your bank collects.")
    ]
    payment_id: Annotated[Uuid | None, Meta(description="The payment that it became.")]
    return_reason: Annotated[str | None, Meta(description='The code of a return, such as "AM04".')]
    cancel_reason: Annotated[
        CollectionCancelName | None,
        Meta(
            description=(
                "Why it is not made. NOT_NOTIFIED: no message reached the debtor. NOT_RELEASED: "
                "your staff did not release it in time. HELD_BACK: your staff held it back, "
                "or closed the bank account."
            )
        ),
    ]
    notified_at: Annotated[
        Instant | None,
        Meta(description="When the debtor was notified; null if the provider does that."),
    ]


class DebitCollectionList(Wire, frozen=True):
    """A page of collections, latest planned first."""

    items: list[DebitCollection]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]
