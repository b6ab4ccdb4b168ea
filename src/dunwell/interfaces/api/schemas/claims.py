"""Claims on the wire: what creating one answers, and how it is read back.

What is submitted is `intake.submission`'s shape, which checks it as well. The debtor's fields are
those of `claims.fields`.
"""

from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dunwell.core.claims.fields import (
    ADDRESS_FIELDS,
    FIELDS,
    AddressSubmission,
    ContactData,
    CustomFields,
    list_fields,
)
from dunwell.interfaces.api.schemas.attachments import Attachment
from dunwell.interfaces.api.schemas.failures import Failure
from dunwell.platform.text.wire import Cents, Currency, Day, Instant, Uuid, Wire

# What each submitted field means, by shape and field.
SUBMISSION_WORDS = {
    "ClaimSubmission": {each.wire_name: each.about.words for each in FIELDS}
    | {
        "referenceNumber": "Your own reference, once per merchant; events and results name it.",
        "currency": "ISO 4217, upper case, of all values.",
        "items": "The claim positions, at least one of type PRIMARY.",
        "attachments": "Files the debtor can download.",
    },
    "ContactPatch": {
        each.wire_name: each.about.patch_words or each.about.words
        for each in list_fields(ContactData)
    },
    "AddressSubmission": {each.wire_name: each.about.words for each in ADDRESS_FIELDS},
    "ItemSubmission": {
        "reference": "For example the invoice's number.",
        "type": "What the item is.",
        "value": "Minor units, as a string of 1 to 12 digits, more than 0.",
        "itemDate": "YYYY-MM-DD.",
        "dueDate": "YYYY-MM-DD, not before itemDate.",
    },
    "AttachmentSubmission": {
        "sourceType": "TICKET: source holds an upload ticket.",
        "source": "The ticketId of an upload.",
    },
}

# As a claim in the reference has them.
DEBTOR_EXAMPLE: dict[str, Any] = {each.wire_name: each.about.example for each in FIELDS}

ItemType = Annotated[
    str, Meta(extra_json_schema={"enum": ["PRIMARY", "COLLECTION_FEE", "DUNNING_FEE"]})
]

ClaimStatus = Literal["CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN"]


class CreationWarning(Wire, frozen=True):
    """Something worth knowing about a claim that was created all the same."""

    code: str
    message: str


class CreationRemarks(Wire, frozen=True):
    warnings: list[CreationWarning]


class ClaimCreationResult(Wire, frozen=True):
    """What became of one submitted claim (spec, Claim creation result): created or failed."""


class CreatedClaim(ClaimCreationResult, frozen=True):
    """A claim that was created: `error` is null."""

    id: int
    reference_number: Annotated[str, Meta(description="As submitted.")]
    error: None
    result: Annotated[CreationRemarks | None, Meta(description="Null: no warnings.")]


class FailedClaim(ClaimCreationResult, frozen=True):
    """A claim that was not created: `id` is null, and `error` says why."""

    id: None
    reference_number: Annotated[
        str | None, Meta(description="As submitted; null when it could not be read.")
    ]
    error: Failure
    result: None


class ClaimItem(Wire, frozen=True):
    """A claim position (spec, Item) with what is left to pay on it."""

    id: int
    reference: str | None
    type: ItemType
    value: Cents
    outstanding: Cents
    item_date: Day | None
    due_date: Day | None
    item_id: Annotated[
        int | None, Meta(description="Of a fee: the item it was added for; they go together.")
    ]


class ClaimHold(Wire, frozen=True):
    """Something that stops the process for a while; several may stand at once."""

    kind: Literal["DISPUTE", "PAUSE", "MODALITY_REQUESTED", "MODALITY_ACTIVE", "PAYMENT_PENDING"]
    since: Instant
    until: Instant | None
    by: Annotated[
        Literal["SYSTEM", "OPERATOR", "CREDENTIAL", "USER", "DEBTOR"],
        Meta(description="Who set it."),
    ]
    reason: Annotated[str | None, Meta(description="As it was given with a pause.")]


class ClaimAssignment(Wire, frozen=True, omit_defaults=True):
    """`scenarioId` before the merchant is switched to workflows; the other two afterwards."""

    scenario_id: int | UnsetType = UNSET
    workflow_id: Uuid | UnsetType = UNSET
    workflow_version: (
        Annotated[str, Meta(description="The version its next step uses.", examples=["v1.0"])]
        | UnsetType
    ) = UNSET


class _ClaimHead(Wire, frozen=True):
    id: int
    reference_number: str
    currency: Currency


Address: Any = msgspec.defstruct(
    "Address",
    [
        (
            each.name,
            Annotated[each.kind, Meta(description=each.about.words)] | UnsetType,
            msgspec.field(default=UNSET, name=each.wire_name),
        )
        for each in ADDRESS_FIELDS
    ],
    bases=(Wire,),
    frozen=True,
    omit_defaults=True,
)
# What was submitted is answered without the limits it was checked by.
_ANSWERED = {date: Day, AddressSubmission: Address, CustomFields: dict[str, str]}

# The debtor's fields stand behind the head: `show_claim` fills them from their table.
if TYPE_CHECKING:
    _Submitted = _ClaimHead
else:
    _Submitted = msgspec.defstruct(
        "_Submitted",
        [
            (
                each.name,
                _ANSWERED.get(each.kind, each.kind) | None,
                msgspec.field(name=each.wire_name),
            )
            for each in FIELDS
        ],
        bases=(_ClaimHead,),
        frozen=True,
    )


class Claim(_Submitted, frozen=True):
    """A claim read back: what was submitted, where it stands, what is owed."""

    status: ClaimStatus
    holds: Annotated[list[ClaimHold], Meta(description="Those that stand now.")]
    total: Cents
    outstanding: Cents
    overpaid: Cents
    items: list[ClaimItem]
    attachments: Annotated[list[Attachment], Meta(description="Its files, newest first.")]
    assignment: Annotated[ClaimAssignment | None, Meta(description="Null: no process runs.")]
    next_step_at: Annotated[
        Instant | None,
        Meta(description="Null under a hold, while a contact is under way, and after the end."),
    ]
    created_at: Instant
    updated_at: Annotated[
        Instant, Meta(description="When something of the claim changed, its process included.")
    ]
    landing_page_url: Annotated[
        str,
        Meta(
            description="A link to the debtor's page that belongs to no message. Whoever has it "
            "can open the page: give it to the debtor alone.",
            examples=["https://claims.example.com/q/3q2-7wEBAgMEBQYHCAkKCw"],
        ),
    ]
