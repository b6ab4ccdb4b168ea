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
from dunwell.accounts.merchants.request_sets import RequestBatcher
from dunwell.adapters.channels.gateway import Forged
from dunwell.adapters.channels.kannel import channel as reading
from dunwell.adapters.channels.twilio import channel as twilio
from dunwell.contact.sending.incoming_sms import ReceivedSms
from dunwell.contact.sending.receive_sms import receive_sms
from dunwell.contact.sending.references import parse_reference
from dunwell.contact.sending.report import Reference, Report
from dunwell.contact.sending.store import count_reports, save_reports
from dunwell.platform.errors import NotFound, RateLimited
from dunwell.platform.http.addresses import get_visitor_network
from dunwell.platform.http.requests import read_body, request_id_of
from dunwell.platform.resources import Resources
from dunwell.platform.security_events import log_security_event

_MOST_VALUES = 60


class Call(ABC):
    """A request from a gateway in its own format. Its methods raise Forged if the request is not
    authenticated."""

    @abstractmethod
    def read_report(self, reference: Reference | None, written: str) -> Report | None:
        """Return the delivery report, or None if it is not a final one. `reference` is the one in
        the address, None if it is not valid."""

    @abstractmethod
    def read_incoming(self) -> ReceivedSms: ...

    @abstractmethod
    def write_answer(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        """Return the body of the response to an incoming message, and its media type."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it was received. `address` is the public address without the query."""

    address: str
    query: bytes
    body: bytes
    # The header X-Twilio-Signature, "" if there is none.
    signature: str


def make_call(
    name: str,
    line: KannelProvider | TwilioProvider,
    secrets: Mapping[str, bytes],
    received: Received,
) -> Call:
    """Return the request in the format of its delivery provider. Raises Forged."""
    if isinstance(line, TwilioProvider):
        token = secrets.get(f"deliveryProviders/{name}/credentials/passwordFile")
        pairs = _split(received.body, "utf-8")
        if received.query:
            raise Forged("An address of ours has nothing behind its path.")
        twilio.check_signature(token, received.address, pairs, received.signature)
        return _TwilioCall(name, line, pairs, received.body)
    secret = secrets.get(f"deliveryProviders/{name}/incomingSecretFile")
    raw = received.query or received.body
    return _KannelCall(name, line, values=dict(_split(raw, "latin-1")), raw=raw, secret=secret)


def _split(content: bytes, encoding: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            content.decode("latin-1"), keep_blank_values=True, encoding=encoding,
            max_num_fields=_MOST_VALUES,
        )  # fmt: skip
    except ValueError as error:
        raise Forged("The call has more values than a gateway's.") from error


@dataclass(frozen=True, slots=True)
class _KannelCall(Call):
    name: str
    line: KannelProvider
    values: Mapping[str, str]
    raw: bytes
    secret: bytes | None

    def read_report(self, reference: Reference | None, written: str) -> Report | None:
        """The reference in the address is the only authentication."""
        if reference is None:
            raise Forged("The address is none that we gave to a gateway.")
        return reading.read_report(
            self.name, reference, written=written, values=self.values, raw=self.raw
        )

    def read_incoming(self) -> ReceivedSms:
        return reading.read_incoming(self.name, self.secret, self.values)

    def write_answer(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        words = self.line.stop_confirmation if is_suppressed else None
        return (words or "").encode(), "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _TwilioCall(Call):
    """A request whose signature was verified."""

    name: str
    line: TwilioProvider
    pairs: twilio.Pairs
    raw: bytes

    def read_report(
        self,
        reference: Reference | None,
        written: str,  # noqa: ARG002 - the signature proves it
    ) -> Report | None:
        return twilio.read_report(self.name, reference, self.pairs, self.raw)

    def read_incoming(self) -> ReceivedSms:
        return twilio.read_incoming(self.name, self.pairs)

    def write_answer(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        words = self.line.stop_confirmation if is_suppressed else None
        message = f"<Message>{escape(words)}</Message>" if words else ""
        return f"<Response>{message}</Response>".encode(), "text/xml; charset=utf-8"


_MAX_BYTES = 16 * 1024
# For one message, which has several parts and states, some of them repeated.
_MOST_REPORTS = 40
# Reports that are saved by one statement.
_KEPT_AT_ONCE = 200
_FORGED_A_MINUTE = 30
_MINUTE = 60.0
_MOST_VISITORS = 10_000


class KnownLines(Protocol):
    """The delivery providers of the current installation file, and their secrets."""

    @property
    def delivery_providers(self) -> Mapping[str, DeliveryProvider]: ...
    @property
    def secrets(self) -> Mapping[str, bytes]: ...


class _Forgeries:
    """Counts requests without authentication by their origin, within one minute and one process."""

    def __init__(self) -> None:
        self._since = monotonic()
        self._counts: dict[bytes, int] = {}

    def count(self, visitor: bytes) -> None:
        """Raises RateLimited if there were too many; further ones are not logged. Authenticated
        requests are never refused because of forged ones: a gateway may share its address with
        others behind a proxy."""
        if monotonic() - self._since > _MINUTE or len(self._counts) > _MOST_VISITORS:
            self._since, self._counts = monotonic(), {}
        if self._counts.get(visitor, 0) >= _FORGED_A_MINUTE:
            words = "Too many calls that prove nothing came from there. Wait a minute."
            raise RateLimited(words, retry_after=60)
        self._counts[visitor] = self._counts.get(visitor, 0) + 1


def channel_callback_routes(resources: Resources, installation: KnownLines) -> list[Route]:
    """Return the routes to mount. The application renders the errors that they raise."""
    forgeries, inbox = _Forgeries(), _Inbox(resources)

    def guard(
        take: Callable[[Resources, Call, Request], Awaitable[Response]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            visitor = get_visitor_network(request.client.host if request.client else "")
            name = request.path_params["line"]
            try:
                call = await _read_call(request, resources, installation)
                return await take(resources, call, request)
            except Forged:
                forgeries.count(visitor)
                request_id = request_id_of(request.scope, resources)
                log_security_event("CALLBACK_FORGED", line=name, request_id=request_id)
                raise

        return answer

    root, methods = "/callbacks/channels/{line}", ["GET", "POST"]
    return [
        Route(f"{root}/incoming", guard(_take_incoming), methods=methods),
        Route(f"{root}/{{reference}}", guard(inbox.take), methods=methods),
    ]


async def _read_call(request: Request, resources: Resources, installation: KnownLines) -> Call:
    name = request.path_params["line"]
    line = installation.delivery_providers.get(name)
    if not isinstance(line, KannelProvider | TwilioProvider):
        raise NotFound("There is no such line.")
    body = await read_body(request, _MAX_BYTES)
    address = resources.settings.public_url + request.scope["path"]
    received = Received(
        address,
        request.scope["query_string"][:_MAX_BYTES],
        body,
        request.headers.get("x-twilio-signature", ""),
    )
    return make_call(name, line, installation.secrets, received)


async def _take_incoming(resources: Resources, call: Call, _request: Request) -> Response:
    incoming = call.read_incoming()
    is_suppressed = await receive_sms(resources, incoming)
    content, media_type = call.write_answer(is_suppressed=is_suppressed)
    return Response(content, 200, media_type=media_type)


class _Inbox:
    """Collects delivery reports that arrive at the same time, and saves them together."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._arriving = RequestBatcher(self._keep, room=_KEPT_AT_ONCE)

    async def take(self, resources: Resources, call: Call, request: Request) -> Response:
        written = request.path_params["reference"]
        reference = parse_reference(resources.keys, written) if written.isascii() else None
        report = call.read_report(reference, written.lower())
        if report is not None:
            await self._arriving.ask(None, report)
        # Kannel repeats a report unless the response is 200 or 202.
        return Response(b"", 200, media_type="text/plain")

    async def _keep(self, reports: Sequence[Report]) -> Sequence[None]:
        """Save the reports. Drop those beyond the number that any gateway sends for one message."""
        resources = self._resources
        named = {each.reference for each in reports if each.reference is not None}
        async with resources.database.transaction() as tx:
            known = await count_reports(tx, named)
            kept = []
            for each in reports:
                if each.reference is not None:
                    known[each.reference] += 1
                if each.reference is None or known[each.reference] <= _MOST_REPORTS:
                    kept.append(each)
            await save_reports(tx, kept, real_now=resources.clock.now(), ids=resources.ids)
        return [None] * len(reports)
