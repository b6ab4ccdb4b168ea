"""The callback addresses of SMS gateways, `/callbacks/channels/<provider>/...`, for delivery
reports and received messages."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Protocol
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    KannelProvider,
    TwilioProvider,
)
from dunwell.adapters.channels.gateway import ForgedRequest
from dunwell.adapters.channels.kannel import channel as kannel
from dunwell.adapters.channels.twilio import channel as twilio
from dunwell.contact.sending.incoming_sms import ReceivedSms
from dunwell.contact.sending.receive_sms import receive_sms
from dunwell.contact.sending.references import parse_reference
from dunwell.contact.sending.report import Reference, Report
from dunwell.contact.sending.store import count_reports, save_reports
from dunwell.platform.errors import NotFound, RateLimited
from dunwell.platform.http.addresses import get_visitor_network
from dunwell.platform.http.requests import get_request_id, read_body
from dunwell.platform.request_batcher import RequestBatcher
from dunwell.platform.resources import Resources
from dunwell.platform.security_events import log_security_event

_MAX_VALUES = 60


class GatewayRequest(ABC):
    """A request from a gateway in its own format. Its methods raise ForgedRequest if the request
    is not authenticated."""

    @abstractmethod
    def parse_report(self, reference: Reference | None, reference_text: str) -> Report | None:
        """Return the delivery report, or None if it is not a final one. `reference` is the one in
        the address, None if it is not valid; `reference_text` is its text in lower case."""

    @abstractmethod
    def parse_incoming(self) -> ReceivedSms: ...

    @abstractmethod
    def render_response(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        """Return the body of the response to an incoming message, and its media type."""


@dataclass(frozen=True, slots=True)
class RawGatewayRequest:
    """A request as it was received. `address` is the public address without the query."""

    address: str
    query: bytes
    body: bytes
    # The header X-Twilio-Signature, "" if there is none.
    signature: str


def build_gateway_request(
    name: str,
    provider: KannelProvider | TwilioProvider,
    secrets: Mapping[str, bytes],
    raw_request: RawGatewayRequest,
) -> GatewayRequest:
    """Return the request in the format of its delivery provider. Raises ForgedRequest."""
    if isinstance(provider, TwilioProvider):
        token = secrets.get(f"deliveryProviders/{name}/credentials/passwordFile")
        pairs = _parse_pairs(raw_request.body, "utf-8")
        if raw_request.query:
            raise ForgedRequest("The callback address must not have a query.")
        twilio.check_signature(token, raw_request.address, pairs, raw_request.signature)
        return _TwilioRequest(name, provider, pairs, raw_request.body)
    secret = secrets.get(f"deliveryProviders/{name}/incomingSecretFile")
    raw = raw_request.query or raw_request.body
    return _KannelRequest(
        name, provider, values=dict(_parse_pairs(raw, "latin-1")), raw=raw, secret=secret
    )


def _parse_pairs(content: bytes, encoding: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            content.decode("latin-1"), keep_blank_values=True, encoding=encoding,
            max_num_fields=_MAX_VALUES,
        )  # fmt: skip
    except ValueError as error:
        raise ForgedRequest("The request has too many values.") from error


@dataclass(frozen=True, slots=True)
class _KannelRequest(GatewayRequest):
    name: str
    provider: KannelProvider
    values: Mapping[str, str]
    raw: bytes
    secret: bytes | None

    def parse_report(self, reference: Reference | None, reference_text: str) -> Report | None:
        """The reference in the address is the only authentication."""
        if reference is None:
            raise ForgedRequest("The address was not given to a gateway.")
        return kannel.parse_report(
            self.name, reference, reference_text=reference_text, values=self.values, raw=self.raw
        )

    def parse_incoming(self) -> ReceivedSms:
        return kannel.parse_incoming(self.name, self.secret, self.values)

    def render_response(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        confirmation = self.provider.stop_confirmation if is_suppressed else None
        return (confirmation or "").encode(), "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _TwilioRequest(GatewayRequest):
    """A request whose signature was verified."""

    name: str
    provider: TwilioProvider
    pairs: twilio.Pairs
    raw: bytes

    def parse_report(
        self,
        reference: Reference | None,
        reference_text: str,  # noqa: ARG002 - the signature covers the address
    ) -> Report | None:
        return twilio.parse_report(self.name, reference, self.pairs, self.raw)

    def parse_incoming(self) -> ReceivedSms:
        return twilio.parse_incoming(self.name, self.pairs)

    def render_response(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        confirmation = self.provider.stop_confirmation if is_suppressed else None
        message = f"<Message>{escape(confirmation)}</Message>" if confirmation else ""
        return f"<Response>{message}</Response>".encode(), "text/xml; charset=utf-8"


_MAX_BYTES = 16 * 1024
# The largest number of reports that are stored for one message. A message has several parts and
# states, and some reports are repeated.
_MAX_REPORTS_PER_MESSAGE = 40
# The largest number of reports that are saved by one statement.
_SAVED_AT_ONCE = 200
_MAX_FORGED_PER_MINUTE = 30
_MINUTE = 60.0
_MAX_VISITORS = 10_000


class InstallationFile(Protocol):
    """The delivery providers of the current installation file, and their secrets."""

    @property
    def delivery_providers(self) -> Mapping[str, DeliveryProvider]: ...
    @property
    def secrets(self) -> Mapping[str, bytes]: ...


class _ForgedRequests:
    """Counts requests without authentication by their origin, within one minute and one process."""

    def __init__(self) -> None:
        self._since = monotonic()
        self._counts: dict[bytes, int] = {}

    def count(self, visitor: bytes) -> None:
        """Count an unauthenticated request of the visitor. Raises RateLimited if there were too
        many; further ones are not logged. Authenticated requests are never refused because of
        forged ones: a gateway may share its address with others behind a proxy."""
        if monotonic() - self._since > _MINUTE or len(self._counts) > _MAX_VISITORS:
            self._since, self._counts = monotonic(), {}
        if self._counts.get(visitor, 0) >= _MAX_FORGED_PER_MINUTE:
            message = (
                "Too many unauthenticated requests came from this address. Try again in a minute."
            )
            raise RateLimited(message, retry_after=60)
        self._counts[visitor] = self._counts.get(visitor, 0) + 1


def channel_callback_routes(resources: Resources, installation: InstallationFile) -> list[Route]:
    """Return the routes to mount. The application renders the errors that they raise."""
    forged_requests, inbox = _ForgedRequests(), _ReportInbox(resources)

    def guard(
        handle: Callable[[Resources, GatewayRequest, Request], Awaitable[Response]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            visitor = get_visitor_network(request.client.host if request.client else "")
            name = request.path_params["provider"]
            try:
                gateway_request = await _parse_request(request, resources, installation)
                return await handle(resources, gateway_request, request)
            except ForgedRequest:
                forged_requests.count(visitor)
                request_id = get_request_id(request.scope, resources)
                log_security_event("CALLBACK_FORGED", provider=name, request_id=request_id)
                raise

        return answer

    root, methods = "/callbacks/channels/{provider}", ["GET", "POST"]
    return [
        Route(f"{root}/incoming", guard(_receive_sms), methods=methods),
        Route(f"{root}/{{reference}}", guard(inbox.receive), methods=methods),
    ]


async def _parse_request(
    request: Request, resources: Resources, installation: InstallationFile
) -> GatewayRequest:
    name = request.path_params["provider"]
    provider = installation.delivery_providers.get(name)
    if not isinstance(provider, KannelProvider | TwilioProvider):
        raise NotFound("There is no such delivery provider.")
    body = await read_body(request, _MAX_BYTES)
    address = resources.settings.public_url + request.scope["path"]
    raw_request = RawGatewayRequest(
        address,
        request.scope["query_string"][:_MAX_BYTES],
        body,
        request.headers.get("x-twilio-signature", ""),
    )
    return build_gateway_request(name, provider, installation.secrets, raw_request)


async def _receive_sms(
    resources: Resources, gateway_request: GatewayRequest, _request: Request
) -> Response:
    incoming = gateway_request.parse_incoming()
    is_suppressed = await receive_sms(resources, incoming)
    content, media_type = gateway_request.render_response(is_suppressed=is_suppressed)
    return Response(content, 200, media_type=media_type)


class _ReportInbox:
    """Collects delivery reports that arrive at the same time, and saves them together."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._reports = RequestBatcher(self._save, room=_SAVED_AT_ONCE)

    async def receive(
        self, resources: Resources, gateway_request: GatewayRequest, request: Request
    ) -> Response:
        reference_text = request.path_params["reference"]
        reference = (
            parse_reference(resources.keys, reference_text) if reference_text.isascii() else None
        )
        report = gateway_request.parse_report(reference, reference_text.lower())
        if report is not None:
            await self._reports.ask(None, report)
        # Kannel repeats a report unless the response is 200 or 202.
        return Response(b"", 200, media_type="text/plain")

    async def _save(self, reports: Sequence[Report]) -> Sequence[None]:
        """Save the reports. Drop those beyond the number that any gateway sends for one message."""
        resources = self._resources
        references = {report.reference for report in reports if report.reference is not None}
        async with resources.database.transaction() as tx:
            report_counts = await count_reports(tx, references)
            kept = []
            for report in reports:
                if report.reference is not None:
                    report_counts[report.reference] += 1
                if (
                    report.reference is None
                    or report_counts[report.reference] <= _MAX_REPORTS_PER_MESSAGE
                ):
                    kept.append(report)
            await save_reports(tx, kept, real_now=resources.clock.now(), ids=resources.ids)
        return [None] * len(reports)
