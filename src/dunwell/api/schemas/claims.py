"""Claims on the wire: what creating one answers, and how it is read back.

What is submitted is `intake.submission`'s shape, which checks it as well.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from dunwell.api.schemas.attachments import Attachment
from dunwell.api.schemas.failures import Failure
from dunwell.kit.wire import Cents, Currency, Day, Instant, Uuid, Wire

# What each submitted field means, by shape and field.
SUBMISSION_WORDS = {
    "ClaimSubmission": {
        "referenceNumber": "Your own reference, once per merchant; events and results name it.",
        "currency": "ISO 4217, upper case, of all values.",
        "items": "The claim positions, at least one of type PRIMARY.",
        "debtorName": "The debtor's first name.",
        "debtorLastName": "The debtor's last name. Required unless companyName is given.",
        "companyName": "The debtor's company. Required unless debtorLastName is given.",
        "email": "The debtor's e-mail address.",
        "mobileNumber": "International format with a leading plus sign, like +4915112345678.",
        "customerNumber": "Your number of the debtor; events name it.",
        "contractNumber": "Your number of the contract.",
        "language": "The debtor's language, ISO 639, like de.",
        "dateOfBirth": "YYYY-MM-DD.",
        "address": "The debtor's postal address.",
        "customFields": "Up to 50 texts under names of your own.",
        "maxDeferralDate": "No payment may be deferred beyond this date. YYYY-MM-DD.",
        "attachments": "Files the debtor can download.",
    },
    "ContactPatch": {
        "debtorName": "The debtor's first name.",
        "debtorLastName": "The debtor's last name; it or companyName stays.",
        "companyName": "The debtor's company; it or debtorLastName stays.",
        "email": "The debtor's e-mail address.",
        "mobileNumber": "International format with a leading plus sign, like +4915112345678.",
        "customerNumber": "Your number of the debtor; events name it.",
        "contractNumber": "Your number of the contract.",
        "language": "The debtor's language, ISO 639, like de.",
        "dateOfBirth": "YYYY-MM-DD.",
        "address": "What is given of it is changed, the rest stays.",
        "customFields": "The fields given are changed, a null takes one away, the rest stays.",
    },
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
    "AddressSubmission": {
        "street": "Street and number.",
        "addressLine2": "What stands under it: floor, care of.",
        "postalCode": "As it is written in the country.",
        "city": "The town, as letters name it.",
        "country": "ISO 3166-1 alpha-2, like DE.",
    },
}

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
    """What became of one submitted claim (spec, Claim creation result)."""

    id: Annotated[int | None, Meta(description="Null when the claim was not created.")]
    reference_number: Annotated[str | None, Meta(description="As submitted.")]
    error: Failure | None
    result: CreationRemarks | None


class Address(Wire, frozen=True, omit_defaults=True):
    street: str | UnsetType = UNSET
    address_line2: str | UnsetType = UNSET
    postal_code: str | UnsetType = UNSET
    city: str | UnsetType = UNSET
    country: Annotated[str, Meta(description="ISO 3166-1 alpha-2.")] | UnsetType = UNSET


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


class Claim(Wire, frozen=True):
    """A claim read back: what was submitted, where it stands, what is owed."""

    id: int
    reference_number: str
    currency: Currency
    debtor_name: str | None
    debtor_last_name: str | None
    company_name: str | None
    email: str | None
    mobile_number: str | None
    language: str | None
    date_of_birth: Day | None
    address: Address | None
    customer_number: str | None
    contract_number: str | None
    custom_fields: dict[str, str] | None
    max_deferral_date: Day | None
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
