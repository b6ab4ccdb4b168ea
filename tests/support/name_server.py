"""A DNS server on a local socket, and a resolver that queries only this server."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rrset

Records = Mapping[tuple[str, str], Sequence[str]]


class _Names(asyncio.DatagramProtocol):
    def __init__(self, records: Records | None) -> None:
        self._records = records

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        asked = dns.message.from_wire(data)
        answer = dns.message.make_response(asked)
        answer.flags |= dns.flags.RA
        [question] = asked.question
        name, kind = question.name.to_text().rstrip("."), question.rdtype.name
        if self._records is None:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif texts := self._records.get((name, kind)):
            quoted = [f'"{each}"' if kind == "TXT" else each for each in texts]
            answer.answer.append(dns.rrset.from_text(question.name, 60, "IN", kind, *quoted))
        elif not any(known == name for known, _ in self._records):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        self._transport.sendto(answer.to_wire(), addr)


@asynccontextmanager
async def a_name_server(records: Records | None) -> AsyncIterator[None]:
    """`records` holds texts by name and kind. With None the server fails every query."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Names(records), local_addr=("127.0.0.1", 0)
    )
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers = ["127.0.0.1"]
    resolver.port = transport.get_extra_info("sockname")[1]
    # The library keeps its default resolver in this attribute.
    module: Any = dns.asyncresolver
    kept, module.default_resolver = module.default_resolver, resolver
    try:
        yield
    finally:
        module.default_resolver = kept
        transport.close()
