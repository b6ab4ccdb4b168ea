"""What the pages of webhooks show."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from dunwell.core.events.deliveries.delivery_log import DeliveryView, KnownEndpoint
from dunwell.core.events.deliveries.proof import Proof
from dunwell.core.events.deliveries.store import LoggedDelivery
from dunwell.core.events.webhooks.endpoint import EndpointHealth, NewSecret
from dunwell.core.events.webhooks.store import Reply
from dunwell.interfaces.web.templates import Page


class EndpointsPage(Page, frozen=True):
    template: ClassVar[str] = "endpoints.html"
    area: ClassVar[str] = "endpoints"

    endpoints: Sequence[EndpointHealth]
    after: str
    next_cursor: str | None


class EndpointPage(Page, frozen=True):
    """filters: those of the log that are given, as they stand in the address. since_error: what
    was typed as a day and is none. again: how many were made due again just now."""

    template: ClassVar[str] = "endpoint.html"
    area: ClassVar[str] = "endpoints"

    known: KnownEndpoint
    proof: Proof
    asked_from: int
    types: Sequence[str]
    filters: Mapping[str, str]
    deliveries: Sequence[LoggedDelivery]
    after: str
    next_cursor: str | None
    done_here: str
    again: int
    since_error: str = ""
    since_typed: str = ""


class DeliveryPage(Page, frozen=True):
    template: ClassVar[str] = "delivery.html"
    area: ClassVar[str] = "endpoints"

    endpoint_id: UUID
    url: str
    view: DeliveryView
    done_here: str


class TestPage(Page, frozen=True):
    """What an endpoint has answered to a test event. reply: None: its secrets cannot be opened."""

    template: ClassVar[str] = "endpoint_test.html"
    area: ClassVar[str] = "endpoints"

    endpoint_id: UUID
    url: str
    event_id: UUID
    reply: Reply | None
    is_success: bool
    milliseconds: int


class SecretPage(Page, frozen=True):
    """Before a secret is rotated, and after. until: of the secret before, while both sign. made:
    the new one, in this answer alone."""

    template: ClassVar[str] = "endpoint_secret.html"
    area: ClassVar[str] = "endpoints"

    endpoint_id: UUID
    url: str
    seen: str
    until: datetime | None
    is_conflict: bool
    made: NewSecret | None = None
