"""What the lists of payments and of messages show."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar

from dunwell.events.endpoint_health import EndpointHealth
from dunwell.messages.communication_views import FoundCommunication
from dunwell.messages.suppression import Suppression
from dunwell.payments.store_lists import ListedPayment, ListedRequest
from dunwell.portal.render.pages import Page


class PaymentsPage(Page, frozen=True):
    """kind: payments or requests."""

    template: ClassVar[str] = "payments.html"
    area: ClassVar[str] = "payments"

    kind: str
    on: date | None
    payments: Sequence[ListedPayment]
    requests: Sequence[ListedRequest]
    after: str
    next_cursor: str | None


class MessagesPage(Page, frozen=True):
    template: ClassVar[str] = "messages.html"
    area: ClassVar[str] = "messages"

    filters: Mapping[str, str]
    messages: Sequence[FoundCommunication]
    after: str
    next_cursor: str | None


class SettlePage(Page, frozen=True):
    """A message of which nobody knows whether it left."""

    template: ClassVar[str] = "settle.html"
    area: ClassVar[str] = "messages"

    message: FoundCommunication


class SuppressionsPage(Page, frozen=True):
    template: ClassVar[str] = "suppressions.html"
    area: ClassVar[str] = "messages"

    suppressions: Sequence[Suppression]
    after: str
    next_cursor: str | None


class EndpointsPage(Page, frozen=True):
    template: ClassVar[str] = "endpoints.html"
    area: ClassVar[str] = "endpoints"

    endpoints: Sequence[EndpointHealth]
