"""Disputes and suppressed addresses on the wire (CONTRACT 5 and 10)."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.accounts.merchants.configuration import Channel
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
            description=f"{_NAMES}, or the name of a reason that the operator has added for you.",
            examples=["AMOUNT_WRONG"],
        ),
    ]
    message: Annotated[
        _Message | None,
        Meta(description="Required for OTHER. Only for OTHER, the event includes it."),
    ] = None


class ResolutionRequest(WireInput, frozen=True):
    """Your response to a dispute."""

    outcome: Literal["ACCEPTED", "REJECTED"]
    end_claim: Annotated[
        bool | None,
        Meta(description="With ACCEPTED: whether the claim is withdrawn. Default: true."),
    ] = None
    message: Annotated[_Message | None, Meta(description="Shown to the debtor.")] = None


class DisputeFile(Wire, frozen=True):
    """A file that the debtor provided as evidence. The path `/content` below it returns the file
    itself."""

    id: Uuid
    name: Annotated[str, Meta(description="The debtor's file name.")]
    content_type: str
    size: Annotated[int, Meta(description="The size of the downloaded file in bytes.")]
    added_at: Instant


class Dispute(Wire, frozen=True):
    """A dispute and its outcome."""

    id: Annotated[Uuid, Meta(description="The `disputeId` of the event.")]
    case_number: Annotated[
        str,
        Meta(description="The number that the debtor quotes on the phone, derived from the id."),
    ]
    claim_id: int
    type: Annotated[
        str, Meta(description="As in the event. OTHER for a reason that was added for you.")
    ]
    reason: Annotated[
        str | None,
        Meta(description="The name of the reason if it was added for you, otherwise null."),
    ]
    label: Annotated[
        str | None,
        Meta(description="The label that the reason had then. It is the message of the event."),
    ]
    message: Annotated[str | None, Meta(description="The message of the dispute.")]
    answers: Annotated[
        dict[str, str], Meta(description="The debtor's answers to the questions of the reason.")
    ]
    files: Annotated[list[DisputeFile], Meta(description="The debtor's evidence, oldest first.")]
    state: Literal["OPEN", "ACCEPTED", "REJECTED", "WITHDRAWN"]
    opened_by: Literal["DEBTOR", "MERCHANT"]
    opened_at: Instant
    resolved_at: Annotated[
        Instant | None, Meta(description="When it was resolved or withdrawn; null if it is open.")
    ]
    resolution: Annotated[str | None, Meta(description="The message of your response.")]
    claim_ended: Annotated[
        bool | None,
        Meta(description="Whether accepting it withdrew the claim; null if it was not accepted."),
    ]


class FoundDispute(Dispute, frozen=True):
    """A dispute in the list over all claims."""

    reference_number: Annotated[str, Meta(description="The claim's reference.")]
    answer_by: Annotated[
        Day, Meta(description="The day by which the debtor was promised a response.")
    ]


class FoundDisputeList(Wire, frozen=True):
    """A page of the merchant's disputes, newest first."""

    items: list[FoundDispute]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class DisputeList(Wire, frozen=True):
    """A page of a claim's disputes, newest first."""

    items: list[Dispute]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class Suppression(Wire, frozen=True):
    """A suppressed address, which receives no more messages. The full address is not stored."""

    channel: Channel
    masked_address: str
    reason: Annotated[
        Literal["BOUNCE", "DEBTOR", "MERCHANT", "OPERATOR", "WRONG_PERSON"],
        Meta(
            description=(
                "BOUNCE: messages cannot be delivered. WRONG_PERSON: the recipient is not the "
                "debtor. Otherwise who requested it: the debtor, you, or the operator of this "
                "service."
            )
        ),
    ]
    by: Annotated[
        str,
        Meta(
            description="Who added the entry: SYSTEM, OPERATOR, CREDENTIAL, USER or DEBTOR.",
            examples=["SYSTEM"],
        ),
    ]
    created_at: Instant


class SuppressionList(Wire, frozen=True):
    """A page of the merchant's suppressed addresses, newest first."""

    items: list[Suppression]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]
