"""Claims on the wire: the results of creating them, how they are read, listed and changed, and
their files (CONTRACT 5)."""

from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dunwell.cases.intake.submission import Money
from dunwell.core.claims.fields import (
    ADDRESS_FIELDS,
    FIELDS,
    AddressSubmission,
    ContactData,
    CustomFields,
    Reference,
    list_fields,
)
from dunwell.core.files.upload import ALLOWED_TYPES
from dunwell.interfaces.api.schemas.failures import Failure
from dunwell.platform.text.wire import (
    Cents,
    Currency,
    Day,
    GivenInstant,
    Instant,
    Uuid,
    Wire,
    WireInput,
)


class Attachment(Wire, frozen=True):
    """A file of a claim."""

    id: Uuid
    friendly_name: Annotated[str, Meta(description="The name that debtors see and download.")]
    file_name: Annotated[str, Meta(description="The file name of the upload.")]
    content_type: Annotated[
        str, Meta(description=f"Detected from the content: {', '.join(ALLOWED_TYPES)}.")
    ]
    size: Annotated[int, Meta(ge=1, description="The size of the stored file in bytes.")]
    created_at: Annotated[
        Instant, Meta(description="When the file was attached. Replacing it does not change this.")
    ]
    state: Annotated[
        Literal["READY"],
        Meta(description="READY: the file was checked, and can be sent and downloaded."),
    ]


class AttachmentList(Wire, frozen=True):
    """A page of a claim's attachments, newest first."""

    items: list[Attachment]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class UploadTicket(Wire, frozen=True):
    ticket_id: Annotated[
        Uuid, Meta(description="Use it as the `source` of an attachment within 7 days.")
    ]


FRIENDLY_NAME, FILE_NAME = "friendlyName", "fileName"

FORM: dict[str, Any] = {
    "type": "object",
    "required": [FRIENDLY_NAME, FILE_NAME],
    "additionalProperties": False,
    "properties": {
        FRIENDLY_NAME: {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": "The name that debtors see and download.",
        },
        FILE_NAME: {
            "type": "string",
            "contentMediaType": "application/octet-stream",
            "description": "The file, with its original file name. PDF, JPEG, PNG or WebP, "
            "at most 10 MiB.",
        },
    },
}


# The descriptions of the submitted fields, by schema and field.
SUBMISSION_WORDS = {
    "ClaimSubmission": {each.wire_name: each.about.text for each in FIELDS}
    | {
        "referenceNumber": "Your reference, unique per merchant. Events and results include it.",
        "currency": "The currency of all amounts: ISO 4217, upper case.",
        "items": "The items of the claim, at least one of type PRIMARY.",
        "attachments": "The files that the debtor can download.",
    },
    "ContactPatch": {
        each.wire_name: each.about.patch_text or each.about.text
        for each in list_fields(ContactData)
    },
    "AddressSubmission": {each.wire_name: each.about.text for each in ADDRESS_FIELDS},
    "ItemSubmission": {
        "reference": "For example the invoice number.",
        "type": "The type of the item.",
        "value": "Minor units, as a string of 1 to 12 digits, more than 0.",
        "itemDate": "YYYY-MM-DD.",
        "dueDate": "YYYY-MM-DD, not before itemDate.",
    },
    "AttachmentSubmission": {
        "sourceType": "TICKET: `source` is an upload ticket.",
        "source": "The ticketId of an upload.",
    },
}

# The debtor's fields of the claims in the reference's examples.
DEBTOR_EXAMPLE: dict[str, Any] = {each.wire_name: each.about.example for each in FIELDS}

ItemType = Annotated[
    str, Meta(extra_json_schema={"enum": ["PRIMARY", "COLLECTION_FEE", "DUNNING_FEE"]})
]

ClaimStatus = Literal["CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN"]


class CreationWarning(Wire, frozen=True):
    """A remark on a claim that was created nevertheless."""

    code: str
    message: str


class CreationRemarks(Wire, frozen=True):
    warnings: list[CreationWarning]


class ClaimCreationResult(Wire, frozen=True):
    """The result for one submitted claim (spec, Claim creation result), which was created or
    failed."""


class CreatedClaim(ClaimCreationResult, frozen=True):
    """A claim that was created: `error` is null."""

    id: int
    reference_number: Annotated[str, Meta(description="As submitted.")]
    error: None
    result: Annotated[CreationRemarks | None, Meta(description="Null if there are no warnings.")]


class FailedClaim(ClaimCreationResult, frozen=True):
    """A claim that was not created: `id` is null, and `error` says why."""

    id: None
    reference_number: Annotated[
        str | None, Meta(description="As submitted; null if it could not be read.")
    ]
    error: Failure
    result: None


class ClaimItem(Wire, frozen=True):
    """An item of a claim (spec, Item) with its outstanding amount."""

    id: int
    reference: str | None
    type: ItemType
    value: Cents
    outstanding: Cents
    item_date: Day | None
    due_date: Day | None
    item_id: Annotated[
        int | None,
        Meta(description="For a fee: the item that it belongs to, and with which it is deleted."),
    ]


class ClaimHold(Wire, frozen=True):
    """A hold that pauses the workflow. A claim may have several holds at once."""

    kind: Literal["DISPUTE", "PAUSE", "MODALITY_REQUESTED", "MODALITY_ACTIVE", "PAYMENT_PENDING"]
    since: Instant
    until: Instant | None
    by: Annotated[
        Literal["SYSTEM", "OPERATOR", "CREDENTIAL", "USER", "DEBTOR"],
        Meta(description="Who started the hold."),
    ]
    reason: Annotated[str | None, Meta(description="The reason given for a pause.")]


class ClaimAssignment(Wire, frozen=True, omit_defaults=True):
    """`scenarioId` until the merchant is switched to workflows, the other two fields afterwards."""

    scenario_id: int | UnsetType = UNSET
    workflow_id: Uuid | UnsetType = UNSET
    workflow_version: (
        Annotated[str, Meta(description="The version that its next step uses.", examples=["v1.0"])]
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
            Annotated[each.plain_type, Meta(description=each.about.text)] | UnsetType,
            msgspec.field(default=UNSET, name=each.wire_name),
        )
        for each in ADDRESS_FIELDS
    ],
    bases=(Wire,),
    frozen=True,
    omit_defaults=True,
)
# Responses do not repeat the limits that submissions are checked against.
_RESPONSE_TYPES = {date: Day, AddressSubmission: Address, CustomFields: dict[str, str]}

# The debtor's fields follow the fields of `_ClaimHead`. `build_claim` fills them in from `FIELDS`.
if TYPE_CHECKING:
    _Submitted = _ClaimHead
else:
    _Submitted = msgspec.defstruct(
        "_Submitted",
        [
            (
                each.name,
                _RESPONSE_TYPES.get(each.plain_type, each.plain_type) | None,
                msgspec.field(name=each.wire_name),
            )
            for each in FIELDS
        ],
        bases=(_ClaimHead,),
        frozen=True,
    )


class Claim(_Submitted, frozen=True):
    """A claim with its submitted data, its status and its balance."""

    status: ClaimStatus
    holds: Annotated[list[ClaimHold], Meta(description="The active holds.")]
    total: Cents
    outstanding: Cents
    overpaid: Cents
    items: list[ClaimItem]
    attachments: Annotated[list[Attachment], Meta(description="The claim's files, newest first.")]
    assignment: Annotated[ClaimAssignment | None, Meta(description="Null if no workflow runs.")]
    next_step_at: Annotated[
        Instant | None,
        Meta(description="Null during a hold, while a message is being sent, and after the end."),
    ]
    created_at: Instant
    updated_at: Annotated[Instant, Meta(description="When the claim or its workflow last changed.")]
    landing_page_url: Annotated[
        str,
        Meta(
            description="A link to the debtor's page that is not part of a message. Anyone who "
            "has it can open the page: give it only to the debtor.",
            examples=["https://claims.example.com/q/3q2-7wEBAgMEBQYHCAkKCw"],
        ),
    ]


class ListedClaim(Wire, frozen=True):
    """A claim in a list, with the fields that identify it and its status. Read the claim for all
    fields."""

    id: int
    reference_number: str
    customer_number: str | None
    currency: Currency
    debtor_name: str | None
    debtor_last_name: str | None
    company_name: str | None
    status: ClaimStatus
    holds: Annotated[list[ClaimHold], Meta(description="The active holds.")]
    total: Cents
    outstanding: Cents
    overpaid: Cents
    next_step_at: Annotated[
        Instant | None,
        Meta(description="Null during a hold, while a message is being sent, and after the end."),
    ]
    created_at: Instant
    updated_at: Instant


class ClaimList(Wire, frozen=True):
    """A page of claims, newest first."""

    items: list[ListedClaim]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class PauseRequest(WireInput, frozen=True):
    """All fields are optional."""

    until: Annotated[
        GivenInstant | None,
        Meta(description="When the claim continues. Default: when it is resumed."),
    ] = None
    reason: Annotated[
        Reference | None, Meta(description="For users who read the claim. Debtors do not see it.")
    ] = None


class FeeRequest(WireInput, frozen=True):
    """A fee that you add yourself."""

    type: Annotated[
        Literal["COLLECTION_FEE", "DUNNING_FEE"], Meta(description="The type of the fee.")
    ]
    value: Annotated[
        Money, Meta(description="Minor units, as a string of 1 to 12 digits, more than 0.")
    ]
    item_id: Annotated[
        Annotated[int, Meta(ge=1, le=2**63 - 1)] | None,
        Meta(description="The PRIMARY item that the fee belongs to, and with which it is deleted."),
    ] = None
    item_date: Annotated[date | None, Meta(description="YYYY-MM-DD. Default: today.")] = None
    reference: Annotated[Reference | None, Meta(description="Shown to debtors.")] = None


class AddedItem(Wire, frozen=True):
    """The new item, and the claim's status and balance after it was added."""

    item: ClaimItem
    claim_id: int
    claim_status: ClaimStatus
    total: Annotated[Cents, Meta(description="The total of the claim's items.")]
    outstanding: Annotated[Cents, Meta(description="The outstanding amount of the claim.")]
    overpaid: Annotated[Cents, Meta(description="The amount paid beyond the claim's total.")]


class DeletedItems(Wire, frozen=True):
    """The deleted items, and the claim's status and balance afterwards."""

    deleted_item_ids: Annotated[
        list[int], Meta(description="The item and the fees that belonged to it.")
    ]
    claim_id: int
    claim_status: Annotated[
        ClaimStatus, Meta(description="COLLECTED if all remaining items are paid.")
    ]
    total: Annotated[Cents, Meta(description="The total of the remaining items.")]
    outstanding: Annotated[Cents, Meta(description="The outstanding amount of the claim.")]
    overpaid: Annotated[Cents, Meta(description="The amount paid beyond the claim's total.")]
