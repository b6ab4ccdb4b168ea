"""What an operation is, as data: the routes, the OpenAPI document and the docs page are made of it.

An `Operation` says what merchants can rely on; an `ApiEndpoint` joins it to the function that does
it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Literal

from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.api.call import ApiCall
from dunwell.platform.errors import Refusal

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter in the path, the query or a header. `schema` is its JSON Schema."""

    name: str
    place: Literal["path", "query", "header"]
    description: str
    schema: dict[str, Any]
    is_required: bool = False
    example: Any = None
    is_addition: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBody:
    """What is sent. `shape` is a msgspec type, or for forms a JSON Schema."""

    media_type: str
    shape: Any
    example: Any
    description: str = ""
    # Names the same content may be sent under too.
    further_media_types: tuple[str, ...] = ()
    # Else a request without a body is one with `{}`.
    is_required: bool = True
    # Further media type parts a form needs said (OpenAPI `encoding`).
    encoding: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    operation_id: str
    method: Method
    # Below {base_url}, parameters in braces.
    path: str
    tag: str
    summary: str
    # Markdown of one or a few paragraphs.
    description: str
    # The msgspec type of `result`, or of the whole body where there is no envelope.
    result: Any
    example: Any
    parameters: tuple[Parameter, ...] = ()
    body: RequestBody | None = None
    # What it can refuse besides what every operation can.
    refusals: tuple[type[Refusal], ...] = ()
    # Whether the contract names it, or it is ours.
    is_addition: bool = False
    has_envelope: bool = True
    # Of an answer that is a file: what it can be. Its refusals come in the envelope.
    file_types: tuple[str, ...] = ()
    needs_token: bool = True
    # What the credential must be allowed, asked before the body is read; the use case asks again,
    # as other ways lead to it too.
    right: Right = Right.READ_CLAIMS
    # Answers say when it will be retired, once settings name the dates.
    is_legacy: bool = False

    @property
    def takes_key(self) -> bool:
        """Whether it may be repeated under an Idempotency-Key."""
        return self.method == "POST" and self.needs_token


class Span(Enum):
    """What the database is asked for while an operation runs without an Idempotency-Key."""

    # One transaction around the use case.
    TRANSACTION = auto()
    # A connection alone: the use case reads, or writes with one statement.
    CONNECTION = auto()
    # Nothing: the use case opens transactions of its own.
    OWN = auto()
    # Nothing: the use case shares its statement with those of other requests.
    SHARED = auto()


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """`run` answers the operation's result, raises a refusal that undoes all, or answers one as a
    value: then what it did stands.

    `prepare` does, before any transaction, what calls out of the process; `run` finds its result
    as `call.prepared`.
    """

    operation: Operation
    run: Callable[[ApiCall], Awaitable[Any]]
    span: Span = Span.TRANSACTION
    prepare: Callable[[ApiCall], Awaitable[Any]] | None = None
