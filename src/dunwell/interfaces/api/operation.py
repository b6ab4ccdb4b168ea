"""Describe an operation of the API as data, from which the routes, the OpenAPI document and the
reference page are built.

An `Operation` is what merchants can rely on. An `ApiEndpoint` connects it to the function that
performs it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Literal

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor, build_credential_actor
from dunwell.accounts.merchants.credentials.credential import CredentialAccess
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.create_together import ClaimIntake
from dunwell.contact.sending.channel import ChannelAdapter
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.api.address import Query
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Refusal
from dunwell.platform.http.multipart import FormPart
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class ApiServices:
    """The services that all requests share. They are opened once, when the application is built."""

    resources: Resources
    channels: Sequence[ChannelAdapter]
    storage: SealedFiles
    inspector: Inspector
    intake: ClaimIntake


@dataclass(slots=True)
class ApiCall:
    """One authenticated request, as the functions that perform operations get it."""

    services: ApiServices
    access: CredentialAccess
    merchant: Merchant
    path: Mapping[str, str]
    query: Query
    body: bytes = b""
    parts: list[FormPart] = field(default_factory=list)
    # The open transaction or connection. None while the body is read, and for use cases that open
    # their own.
    tx: Connection | None = None
    # When the credential was last checked, on the monotonic clock, in seconds.
    admitted_at: float = 0.0
    # The result of the endpoint's `prepare`.
    prepared: Any = None

    @property
    def actor(self) -> Actor:
        return build_credential_actor(self.access.client_id, self.access.rights)

    @property
    def work(self) -> Work:
        assert self.tx is not None
        return Work.open(self.services.resources, self.tx, self.merchant, self.actor)


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
    """The body of a request. `shape` is a msgspec type, or a JSON Schema for forms."""

    media_type: str
    shape: Any
    example: Any
    description: str = ""
    # Other media types that are accepted for the same content.
    further_media_types: tuple[str, ...] = ()
    # When False, a request without a body is handled like one with `{}`.
    is_required: bool = True
    # The media types of a form's parts (`encoding` in OpenAPI).
    encoding: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    operation_id: str
    method: Method
    # The path below {base_url}, with parameters in braces.
    path: str
    tag: str
    summary: str
    # Markdown of one or a few paragraphs.
    description: str
    # The msgspec type of `result`, or of the whole body if the response has no envelope.
    result: Any
    example: Any
    parameters: tuple[Parameter, ...] = ()
    body: RequestBody | None = None
    # The refusals that only some operations have.
    refusals: tuple[type[Refusal], ...] = ()
    # True if the operation is not in the contract but an addition to it.
    is_addition: bool = False
    has_envelope: bool = True
    # The media types of a response that is a file. Refusals still use the envelope.
    file_types: tuple[str, ...] = ()
    needs_token: bool = True
    # The right that the credential needs. It is checked before the body is read, and again by the
    # use case, which other interfaces call too.
    right: Right = Right.READ_CLAIMS
    # True if the operation will be retired. Responses say when, once the settings name the dates.
    is_legacy: bool = False

    @property
    def accepts_idempotency_key(self) -> bool:
        """Return whether requests may have an Idempotency-Key."""
        return self.method == "POST" and self.needs_token


class DatabaseScope(Enum):
    """What an operation without an Idempotency-Key opens in the database."""

    # One transaction around the use case.
    TRANSACTION = auto()
    # A connection without a transaction, because the use case only reads or writes with one
    # statement.
    CONNECTION = auto()
    # Nothing, because the use case opens its own transactions.
    OWN = auto()
    # Nothing, because the use case runs in one statement together with those of other requests.
    SHARED = auto()


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """An operation and the functions that perform it.

    `run` returns the result or a refusal. A refusal that it raises rolls back all changes; one that
    it returns keeps them.

    `prepare` calls other processes before any transaction is open. `run` finds its result in
    `call.prepared`.
    """

    operation: Operation
    run: Callable[[ApiCall], Awaitable[Any]]
    database_scope: DatabaseScope = DatabaseScope.TRANSACTION
    prepare: Callable[[ApiCall], Awaitable[Any]] | None = None
