"""The communications of the API: what was sent to a debtor, when, where and with which outcome.
Pure."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.accounts.merchants.configuration import Channel
from dunwell.platform.text.wire import Instant, Uuid, Wire

CommunicationState = Literal[
    "PLANNED", "ATTACHMENT_MISSING", "HANDED_OVER", "ACCEPTED", "FAILED", "CANCELLED", "UNKNOWN"
]


class CommunicationStep(Wire, frozen=True):
    """The action step that planned the communication."""

    id: int
    name: Annotated[
        str | None, Meta(description="null: never sent, and the claim has another workflow now.")
    ]


class SentAttachment(Wire, frozen=True):
    """A file sent with a communication."""

    id: Uuid
    friendly_name: Annotated[str | None, Meta(description="null: removed from the claim since.")]


class Communication(Wire, frozen=True):
    """A communication with its content as it was sent.

    The token of the link and the code of a letter are masked in `text` and `html`. The printed
    sheet of a letter is not available, because it shows both; `text` has its content.
    """

    reference: Annotated[Uuid, Meta(description="The ESCALATED event's communication.reference.")]
    claim_id: int
    channel: Channel
    state: Annotated[
        CommunicationState,
        Meta(
            description="ACCEPTED: the channel accepted it. UNKNOWN: it may or may not have been "
            "sent; the claim waits until an operator resolves it."
        ),
    ]
    held_by: Annotated[
        Literal["GUARD_DAY", "GUARD_WEEK", "QUIET_HOURS", "CONTACT_HOURS", "PERSON_DIED"] | None,
        Meta(description="Why a planned communication is held back."),
    ]
    failure: Annotated[str | None, Meta(description="Why it failed, was delayed or was not sent.")]
    action_step: CommunicationStep
    version: Annotated[
        str | None,
        Meta(description="Workflow version; null: not rendered yet, or a scenario."),
    ]
    planned_at: Instant
    not_before: Annotated[Instant, Meta(description="The earliest time of sending.")]
    handed_over_at: Annotated[
        Instant | None, Meta(description="When it was handed to its channel.")
    ]
    settled_at: Annotated[Instant | None, Meta(description="When its outcome was recorded.")]
    recipient: Annotated[
        str | None,
        Meta(description="E-mail address, phone number, or lines of the letter's address. null, "
             "like all of the content: not rendered yet, or erased."),
    ]  # fmt: skip
    language: str | None
    subject: str | None
    text: str | None
    html: Annotated[
        str | None, Meta(description="Set for e-mails; has the same content as `text`.")
    ]
    attachments: list[SentAttachment]


class CommunicationList(Wire, frozen=True):
    """A page of a claim's communications, newest first."""

    items: list[Communication]
    next_cursor: Annotated[
        str | None, Meta(description="Cursor of the next page; null on the last page.")
    ]


class FoundCommunication(Communication, frozen=True):
    """A communication in the list over all claims."""

    reference_number: Annotated[str, Meta(description="The reference number of the claim.")]


class FoundCommunicationList(Wire, frozen=True):
    """A page of the merchant's communications, newest first."""

    items: list[FoundCommunication]
    next_cursor: Annotated[
        str | None, Meta(description="Cursor of the next page; null on the last page.")
    ]


EXAMPLE = Communication(
    reference="0195547b-2b11-7c9a-a0b1-c2d3e4f50617",
    claim_id=4711,
    channel="EMAIL",
    state="ACCEPTED",
    held_by=None,
    failure=None,
    action_step=CommunicationStep(1, "First reminder"),
    version="v1.0",
    planned_at="2026-03-02T09:00:00.000Z",
    not_before="2026-03-02T09:00:00.000Z",
    handed_over_at="2026-03-02T09:00:00.400Z",
    settled_at="2026-03-02T09:00:00.900Z",
    recipient="erika@example.org",
    language="en",
    subject="Reminder INV-2026-0815",
    text=(
        "Nordwind\n\nAmount to pay: €102.40\nReference: INV-2026-0815\n\n"
        "Dear Erika Mustermann,\n\nPlease pay €102.40:\n"
        "https://claims.example.com/q/__masked__link_token__\n\nSee and pay:\n"
        "https://claims.example.com/q/__masked__link_token__\n\n--\nThis message is from:\n"
        "Nordwind Schuhe GmbH\nDeichstraße 1\n20459 Hamburg\n\nE-mail: hilfe@nordwind.example\n"
        "Phone: +49 40 1234560\n\nRepresented by: Ina Brandt\n"
        "Register: Amtsgericht Hamburg, HRB 112233\n\nIs this message real? Check it at"
        " claims.example.com/real with the code _chk_code and the amount.\n"
    ),
    # Shortened.
    html='<!DOCTYPE html>\n<html lang="en" dir="ltr">...</html>',
    attachments=[],
)
