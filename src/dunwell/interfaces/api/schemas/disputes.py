"""Disputes and suppressed addresses on the wire (CONTRACT 5 and 10)."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.cases.disputes.reasons import DisputeType
from dunwell.platform.text.wire import LINE, LINES, Day, Instant, Uuid, Wire, WireInput

_Message = Annotated[str, Meta(min_length=1, max_length=2_000, pattern=LINES)]
_NAMES = ", ".join(DisputeType)


class DisputeRequest(WireInput, frozen=True):
    """A dispute that you record, for example after a phone call or a letter from the debtor."""

    type: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=64,
            pattern=LINE,
            description=f"{_NAMES}, or the name of a reason the operator has added for you.",
            examples=["AMOUNT_WRONG"],
        ),
    ]
    message: Annotated[
        _Message | None,
        Meta(description="Required for OTHER, and sent out in the event for OTHER alone."),
    ] = None


class ResolutionRequest(WireInput, frozen=True):
    """Your response to a dispute."""

    outcome: Literal["ACCEPTED", "REJECTED"]
    end_claim: Annotated[
        bool | None,
        Meta(description="Of ACCEPTED: whether the claim is withdrawn. Default: true."),
    ] = None
    message: Annotated[_Message | None, Meta(description="For the debtor to read.")] = None


class DisputeFile(Wire, frozen=True):
    """A file that the debtor provided as evidence. The path `/content` below it returns the file
    itself."""

    id: Uuid
    name: Annotated[str, Meta(description="As the debtor called it.")]
    content_type: str
    size: Annotated[int, Meta(description="In bytes, as it is downloaded.")]
    added_at: Instant


class Dispute(Wire, frozen=True):
    """A dispute and its outcome."""

    id: Annotated[Uuid, Meta(description="The event's disputeId.")]
    case_number: Annotated[
        str, Meta(description="What the debtor quotes on the phone; derived from the id.")
    ]
    claim_id: int
    type: Annotated[
        str, Meta(description="As in the event; OTHER for a reason that was added for you.")
    ]
    reason: Annotated[
        str | None, Meta(description="The name of the reason that was added for you, else null.")
    ]
    label: Annotated[
        str | None, Meta(description="Its words then, which the event has as its message.")
    ]
    message: Annotated[str | None, Meta(description="What was written with the dispute.")]
    answers: Annotated[
        dict[str, str], Meta(description="What the debtor answered to the reason's questions.")
    ]
    files: Annotated[list[DisputeFile], Meta(description="The debtor's evidence, oldest first.")]
    state: Literal["OPEN", "ACCEPTED", "REJECTED", "WITHDRAWN"]
    opened_by: Literal["DEBTOR", "MERCHANT"]
    opened_at: Instant
    resolved_at: Annotated[
        Instant | None, Meta(description="When it was answered or withdrawn; null: it is open.")
    ]
    resolution: Annotated[str | None, Meta(description="The message of your answer.")]
    claim_ended: Annotated[
        bool | None,
        Meta(description="Whether accepting it withdrew the claim; null: it was not accepted."),
    ]


class FoundDispute(Dispute, frozen=True):
    """A dispute in the list over all claims."""

    reference_number: Annotated[str, Meta(description="The claim's.")]
    answer_by: Annotated[Day, Meta(description="The day that the debtor was told.")]


class FoundDisputeList(Wire, frozen=True):
    """A page of the merchant's disputes, newest first."""

    items: list[FoundDispute]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]


class DisputeList(Wire, frozen=True):
    """A page of a claim's disputes, newest first."""

    items: list[Dispute]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]


class Suppression(Wire, frozen=True):
    """A suppressed address, which receives no more messages. The full address is not stored."""

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
