"""Addresses that are contacted no more (CONTRACT 5)."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.platform.text.wire import Instant, Wire


class Suppression(Wire, frozen=True):
    """An address that is contacted no more; the address itself is not kept."""

    channel: Literal["EMAIL", "SMS", "LETTER"]
    masked_address: str
    reason: Annotated[
        Literal["BOUNCE", "DEBTOR", "MERCHANT", "OPERATOR", "WRONG_PERSON"],
        Meta(
            description="BOUNCE: it does not take messages. WRONG_PERSON: who reads messages there "
            "is not the debtor. The rest: who asked for it, the debtor, you, or whoever operates "
            "this service."
        ),
    ]
    by: Annotated[
        str,
        Meta(
            description="SYSTEM, OPERATOR, CREDENTIAL, USER, DEBTOR: who entered it.",
            examples=["SYSTEM"],
        ),
    ]
    created_at: Instant


class SuppressionList(Wire, frozen=True):
    """A page of the merchant's suppressed addresses, newest first."""

    items: list[Suppression]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]
