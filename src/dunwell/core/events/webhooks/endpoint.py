"""A webhook endpoint as a value, the rules for its parts, and its health. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit
from uuid import UUID

from dunwell.accounts.installation.installation_file import WebhookReach
from dunwell.core.events.body import ADDITIONAL_EVENT_TYPES, EVENT_TYPES, KNOWN_EVENT_TYPES
from dunwell.core.events.webhooks.retry import FailureHistory
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.http.addresses import is_forbidden, is_within

# The types of the contract, without the additional ones.
ALL_TYPES = "*"
_MAX_URL_LENGTH = 2000
_MAX_AUTHORIZATION_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """A new endpoint as requested. `types` holds event types, or "*" and additional types;
    `authorization` is the complete value of an Authorization header."""

    url: str
    types: tuple[str, ...]
    authorization: str | None = None


@dataclass(frozen=True, slots=True)
class NewEndpointSecret:
    """An endpoint's unencrypted secret (`whsec_...`), which is shown once and not stored."""

    endpoint_id: UUID
    url: str
    secret: str


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """A stored endpoint. Its secrets are encrypted."""

    merchant_id: int
    endpoint_id: UUID
    url: str
    types: tuple[str, ...]
    secret_sealed: bytes
    previous_secret_sealed: bytes | None
    previous_secret_until: datetime | None
    authorization_sealed: bytes | None
    health: FailureHistory

    @property
    def is_disabled(self) -> bool:
        return self.health.disabled_at is not None

    @property
    def secret_mark(self) -> str:
        """A hash that identifies the secret without revealing it."""
        return sha256(self.secret_sealed).hexdigest()[:16]

    def has_other_secrets(self, earlier: "WebhookEndpoint") -> bool:
        """Return whether the secrets differ from those of the same endpoint when it was loaded
        earlier."""
        return (
            self.secret_sealed != earlier.secret_sealed
            or self.previous_secret_sealed != earlier.previous_secret_sealed
            or self.authorization_sealed != earlier.authorization_sealed
        )


def check_endpoint(wanted: NewEndpoint, reach: WebhookReach, *, is_development: bool) -> None:
    """Check a new endpoint. Raises ValidationError with every fault.

    Only the development profile accepts loopback addresses, and http:// unless `reach` allows it.
    The addresses of a host name are checked when a connection is made.
    """
    faults = [
        *_find_url_faults(wanted.url),
        *find_reach_faults(wanted.url, reach, is_development=is_development),
        *_find_type_faults(wanted.types),
        *_find_authorization_faults(wanted.authorization),
    ]
    if faults:
        raise ValidationError(faults)


def find_endpoint_faults(wanted: NewEndpoint) -> Iterator[Fault]:
    """Yield the faults that do not depend on the merchant's networks."""
    yield from _find_url_faults(wanted.url)
    yield from _find_type_faults(wanted.types)
    yield from _find_authorization_faults(wanted.authorization)


def find_reach_faults(url: str, reach: WebhookReach, *, is_development: bool) -> Iterator[Fault]:
    """Yield a fault if the merchant's webhooks may not be sent to this address. An address that
    cannot be parsed yields none, because `_find_url_faults` reports it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return
    if parts.scheme != "https" and not is_allowed_scheme(url, reach, is_development=is_development):
        yield Fault("/url", "Use an https:// address.", "NOT_ALLOWED")
    if not _is_literal(host):
        return
    is_allowed = (
        is_within(host, reach.networks)
        if reach.networks
        else not is_forbidden(host, allow_loopback=is_development)
    )
    if not is_allowed:
        message = "This address is in a range to which webhooks are not sent."
        yield Fault("/url", message, "NOT_ALLOWED")


def is_allowed_scheme(url: str, reach: WebhookReach, *, is_development: bool) -> bool:
    """Return whether the scheme of the address is allowed: https always, http only in development
    or where the installation file allows it."""
    scheme = url.partition(":")[0].lower()
    return scheme == "https" or (scheme == "http" and (is_development or reach.allows_http))


def _find_url_faults(url: str) -> Iterator[Fault]:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        yield Fault("/url", "This is not an address. Use https://host/path.", "WRONG_FORMAT")
        return
    if len(url) > _MAX_URL_LENGTH:
        yield Fault("/url", f"Use at most {_MAX_URL_LENGTH} characters.", "TOO_LONG")
    if not host or not url.isprintable() or " " in url:
        yield Fault("/url", "This is not an address. Use https://host/path.", "WRONG_FORMAT")
        return
    if parts.username is not None or parts.password is not None or parts.fragment:
        message = "Remove user, password and fragment; use authorization instead."
        yield Fault("/url", message, "NOT_ALLOWED")


def _find_type_faults(types: Sequence[str]) -> Iterator[Fault]:
    if not types:
        yield Fault("/events", 'Name at least one event type, or "*" for all.', "TOO_FEW")
    if ALL_TYPES in types and any(name in EVENT_TYPES for name in types):
        message = (
            '"*" means every type except for the additional ones. The only types that may be '
            f"named with it are {', '.join(ADDITIONAL_EVENT_TYPES)}."
        )
        yield Fault("/events", message, "NOT_ALLOWED")
    for place, name in enumerate(types):
        if name != ALL_TYPES and name not in KNOWN_EVENT_TYPES:
            message = f"This is not an event type. Known: {', '.join(KNOWN_EVENT_TYPES)}."
            yield Fault(f"/events/{place}", message, "NOT_ALLOWED")


def _find_authorization_faults(authorization: str | None) -> Iterator[Fault]:
    if authorization is None:
        return
    if not authorization.isascii() or not authorization.isprintable() or not authorization.strip():
        message = "Give the header's value in printable ASCII, without line breaks."
        yield Fault("/authorization", message, "WRONG_FORMAT")
    if len(authorization) > _MAX_AUTHORIZATION_LENGTH:
        message = f"Use at most {_MAX_AUTHORIZATION_LENGTH} characters."
        yield Fault("/authorization", message, "TOO_LONG")


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def sort_types(types: Collection[str]) -> tuple[str, ...]:
    """Return the types once each, in the contract's order, and then the additional ones."""
    return tuple(name for name in (ALL_TYPES, *KNOWN_EVENT_TYPES) if name in types)


# Waiting deliveries and consecutive failures are counted up to this limit.
MAX_COUNTED = 1_000
# The merchant is notified of a failure after this time: the first four attempts have failed by
# then, and a receiver that was only restarted has recovered.
NOTIFY_AFTER = timedelta(hours=1)


class EndpointState(StrEnum):
    # No attempt has failed since the last success, or since the endpoint was enabled by hand.
    WORKING = "WORKING"
    FAILING = "FAILING"
    # Disabled after lasting failure. A successful probe enables it again.
    SWITCHED_OFF = "SWITCHED_OFF"


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """The health of an endpoint as lists show it. All instants are real time."""

    endpoint_id: UUID
    url: str
    types: tuple[str, ...]
    created_at: datetime
    health: FailureHistory
    # Consecutive failed attempts, at most MAX_COUNTED.
    failures: int
    # Deliveries that wait for an attempt, at most MAX_COUNTED.
    waiting: int
    last_success_at: datetime | None
    last_try_at: datetime | None

    def without_path(self) -> Self:
        """Return a copy with only the origin of the address."""
        return replace(self, url=render_origin(self.url))

    @property
    def state(self) -> EndpointState:
        if self.health.disabled_at is not None:
            return EndpointState.SWITCHED_OFF
        return EndpointState.WORKING if self.health.is_well else EndpointState.FAILING

    @property
    def failing_since(self) -> datetime | None:
        """The time of the first of the consecutive failures, also if the endpoint was disabled for
        them. None if it works."""
        return self.health.first_failure_at

    @property
    def since(self) -> datetime | None:
        """Since when the endpoint has been failing or disabled. None if it works."""
        return self.health.disabled_at or self.health.first_failure_at


@dataclass(frozen=True, slots=True)
class ReportedEndpoint:
    """A failing endpoint to log, or an endpoint about whose failure or recovery its merchant is
    notified."""

    merchant_id: int
    endpoint_id: UUID
    url: str
    # Since when the endpoint has been failing. None if it works again.
    since: datetime | None
    # The result of its last attempt: the HTTP status, or the reason why there was no response.
    status: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class UndeliveredEvents:
    """The undelivered events of one endpoint, at least one."""

    endpoint_id: UUID
    count: int
    # The id contains the time of the event.
    oldest_event_id: UUID


def render_origin(url: str) -> str:
    """Return the origin of a webhook's address, such as https://erp.example:8443. The rest of it
    can be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
