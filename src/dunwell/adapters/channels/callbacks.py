"""`/callbacks/channels/<line>/...`: where gateways report what became of messages, and bring what
people write to a line.

A reference in the address, a signature or a secret proves who calls; whoever can show none is
refused and told of, and nothing happens. A good answer is given once what came is kept.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import monotonic
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dunwell.accounts.installation.delivery_providers import KannelLine, Line, TwilioLine
from dunwell.accounts.merchants.request_sets import Gathering
from dunwell.adapters.channels.gateway_calls import Call, Received, make_call
from dunwell.adapters.channels.incoming import Forged
from dunwell.contact.sending.references import read_reference
from dunwell.contact.sending.report import Report
from dunwell.contact.sending.store import count_reports, save_reports
from dunwell.contact.sending.take_incoming_sms import take_incoming_sms
from dunwell.platform.errors import NotFound, RateLimited
from dunwell.platform.http.addresses import find_network
from dunwell.platform.http.requests import read_body, request_id_of
from dunwell.platform.resources import Resources
from dunwell.platform.security_events import tell_security_event

_MAX_BYTES = 16 * 1024
# Of one message: parts, states and repetitions of them.
_MOST_REPORTS = 40
# By one statement.
_KEPT_AT_ONCE = 200
_FORGED_A_MINUTE = 30
_MINUTE = 60.0
_MOST_VISITORS = 10_000


class KnownLines(Protocol):
    """The installation file as it stands."""

    @property
    def lines(self) -> Mapping[str, Line]: ...
    @property
    def secrets(self) -> Mapping[str, bytes]: ...


class _Forgeries:
    """How many calls without a proof came from where, in this minute and process."""

    def __init__(self) -> None:
        self._since = monotonic()
        self._counts: dict[bytes, int] = {}

    def count(self, visitor: bytes) -> None:
        """Raises RateLimited for one too many: it is not told any more. Good calls are never
        refused for bad ones: a gateway may come from where others do, behind one proxy."""
        if monotonic() - self._since > _MINUTE or len(self._counts) > _MOST_VISITORS:
            self._since, self._counts = monotonic(), {}
        if self._counts.get(visitor, 0) >= _FORGED_A_MINUTE:
            words = "Too many calls that prove nothing came from there. Wait a minute."
            raise RateLimited(words, retry_after=60)
        self._counts[visitor] = self._counts.get(visitor, 0) + 1


def channel_callback_routes(resources: Resources, installation: KnownLines) -> list[Route]:
    """The routes to mount; what they refuse the application answers in its envelope."""
    forgeries, inbox = _Forgeries(), _Inbox(resources)

    def guard(
        take: Callable[[Resources, Call, Request], Awaitable[Response]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            visitor = find_network(request.client.host if request.client else "")
            name = request.path_params["line"]
            try:
                call = await _read_call(request, resources, installation)
                return await take(resources, call, request)
            except Forged:
                forgeries.count(visitor)
                request_id = request_id_of(request.scope, resources)
                tell_security_event("CALLBACK_FORGED", line=name, request_id=request_id)
                raise

        return answer

    root, methods = "/callbacks/channels/{line}", ["GET", "POST"]
    return [
        Route(f"{root}/incoming", guard(_take_incoming), methods=methods),
        Route(f"{root}/{{reference}}", guard(inbox.take), methods=methods),
    ]


async def _read_call(request: Request, resources: Resources, installation: KnownLines) -> Call:
    name = request.path_params["line"]
    line = installation.lines.get(name)
    if not isinstance(line, KannelLine | TwilioLine):
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
    is_suppressed = await take_incoming_sms(resources, incoming)
    content, media_type = call.write_answer(is_suppressed=is_suppressed)
    return Response(content, 200, media_type=media_type)


class _Inbox:
    """Reports that arrive together are kept together."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._arriving = Gathering(self._keep, room=_KEPT_AT_ONCE)

    async def take(self, resources: Resources, call: Call, request: Request) -> Response:
        written = request.path_params["reference"]
        reference = read_reference(resources.keys, written) if written.isascii() else None
        report = call.read_report(reference, written.lower())
        if report is not None:
            await self._arriving.ask(None, report)
        # Kannel tells again what is answered with anything but 200 or 202.
        return Response(b"", 200, media_type="text/plain")

    async def _keep(self, reports: Sequence[Report]) -> Sequence[None]:
        """More of one message than any gateway tells are let go."""
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
