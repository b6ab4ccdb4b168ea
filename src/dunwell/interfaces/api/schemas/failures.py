"""The types of an error (spec, Errors 1 to 3; CONTRACT 1) and of the details of each error type."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from dunwell.platform.text.wire import Wire


class Failure(Wire, frozen=True):
    """What went wrong, with a message that says what to do next."""

    type: str
    message: str
    details: dict[str, Any]


class NoDetails(Wire, frozen=True):
    """This error type has no details."""


class FieldFault(Wire, frozen=True):
    """One fault in the request."""

    path: Annotated[
        str, Meta(description='JSON pointer from the root of the claim or body; "" is the root.')
    ]
    message: str
    code: Annotated[
        str,
        Meta(description="A stable code for programs. More codes may be added to the table."),
    ]


class FieldFaults(Wire, frozen=True):
    errors: list[FieldFault]


class AssignmentFault(Wire, frozen=True):
    """A claim that was not assigned, and the reason."""

    claim_id: int
    message: str


class AssignmentFaults(Wire, frozen=True):
    errors: list[AssignmentFault]


class LackingRight(Wire, frozen=True):
    right: Annotated[str, Meta(description="The missing right, for example READ_CLAIMS.")]


class AllowedChoices(Wire, frozen=True):
    allowed: list[str]


class MissingParts(Wire, frozen=True):
    missing: Annotated[
        list[str],
        Meta(description="The names of the settings that the operator has not completed."),
    ]


class OtherClaim(Wire, frozen=True):
    claim_id: Annotated[
        int | None,
        Meta(description="The claim that has this reference; null if it is in this request."),
    ]


class UnknownTickets(Wire, frozen=True):
    ticket_ids: list[str]


class PresentState(Wire, frozen=True):
    state: Annotated[
        str, Meta(description="The current state, which does not allow the operation.")
    ]


class Limit(Wire, frozen=True):
    limit: Annotated[int, Meta(description="The maximum size in bytes.")]


class SizeLimit(Limit, frozen=True):
    used: Annotated[
        int | UnsetType,
        Meta(description="For the merchant's file storage: the bytes already used."),
    ] = UNSET


class RequestId(Wire, frozen=True):
    request_id: Annotated[
        str, Meta(description="Report it to the operator, who can find it in the log.")
    ]
