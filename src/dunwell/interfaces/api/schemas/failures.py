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
        str, Meta(description="JSON pointer from the claim's or body's root; \"\" is the root.")
    ]
    message: str
    code: Annotated[
        str,
        Meta(description="A stable word for programs; more may join those in the table of codes."),
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
    right: Annotated[str, Meta(description="The right that was not given, as READ_CLAIMS.")]


class AllowedChoices(Wire, frozen=True):
    allowed: list[str]


class MissingParts(Wire, frozen=True):
    missing: Annotated[
        list[str], Meta(description="What the operator has not set up yet, by name.")
    ]


class OtherClaim(Wire, frozen=True):
    claim_id: Annotated[
        int | None, Meta(description="The claim that has this reference; null: in this request.")
    ]


class UnknownTickets(Wire, frozen=True):
    ticket_ids: list[str]


class PresentState(Wire, frozen=True):
    state: Annotated[str, Meta(description="The state that forbids it.")]


class Limit(Wire, frozen=True):
    limit: Annotated[int, Meta(description="The most that is taken, in bytes.")]


class SizeLimit(Limit, frozen=True):
    used: Annotated[
        int | UnsetType,
        Meta(description="Of a merchant's file storage: what its files take already, in bytes."),
    ] = UNSET


class RequestId(Wire, frozen=True):
    request_id: Annotated[str, Meta(description="Tell it to the operator; the log names it.")]
