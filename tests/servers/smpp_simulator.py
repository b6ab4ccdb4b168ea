"""An SMS centre that speaks SMPP 3.4 and fails on request. A gateway connects to it as to a
provider. It uses only the standard library.

It records every message. `answer` decides its responses. Receipts are sent when a test asks for
them, in any order, or at once with `receipts_at_once`.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

BIND_RECEIVER, BIND_TRANSMITTER, BIND_TRANSCEIVER = 0x01, 0x02, 0x09
SUBMIT_SM, DELIVER_SM, UNBIND, ENQUIRE_LINK = 0x04, 0x05, 0x06, 0x15
GENERIC_NACK, RESPONSE = 0x80000000, 0x80000000
OK, SYSTEM_ERROR, BIND_FAILED, INVALID_DESTINATION, THROTTLED = 0x00, 0x08, 0x0D, 0x0B, 0x58
QUEUE_FULL = 0x14
_HAS_HEADER, _IS_RECEIPT = 0x40, 0x04
_UCS2 = 8
_MAX_BYTES = 65_536

# The alphabet of 3GPP TS 23.038, in the order of its codes.
_ALPHABET = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENSION = dict(zip(b"\x0a\x14\x28\x29\x2f\x3c\x3d\x3e\x40\x65", "\f^{}\\[~]|€", strict=True))


@dataclass(frozen=True)
class Submitted:
    """One part of a message as the gateway submitted it. `number` counts the parts from 1 in the
    order of their arrival."""

    number: int
    message_id: str
    source: str
    destination: str
    text: str
    # The number of this part and of all parts. Parts of the same message have the same `joined`.
    part: int = 1
    parts: int = 1
    joined: int = 0
    wants_receipt: bool = False


@dataclass(frozen=True)
class Drop:
    """In place of a status: close the connection without a response."""


@dataclass(frozen=True)
class Stall:
    """In place of a status: send no response."""


Answer = int | Drop | Stall


@dataclass(eq=False)
class SmsCentre:
    """An SMS centre. Its fields control its behaviour and may change at any time."""

    port: int = 0
    password: str = "smpp-pwd"
    answer: Callable[[Submitted], Answer] = lambda _submitted: OK
    # The notation of the id in the response to a submission and in the receipt.
    given_id: Literal["decimal", "hex"] = "decimal"
    receipt_id: Literal["decimal", "hex", "padded"] = "decimal"
    receipts_at_once: str | None = None
    # Whether it answers link enquiries.
    answers_links: bool = True
    # Whether it accepts connections. Otherwise it tells clients to try again later.
    accepts_clients: bool = True
    binds: int = 0
    submitted: list[Submitted] = field(default_factory=list)
    accepted: list[Submitted] = field(default_factory=list)
    links: int = 0
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _sequence: int = 0

    @property
    def is_bound(self) -> bool:
        return bool(self._writers)

    def read_messages(self) -> list[tuple[str, str]]:
        """Return (destination, text) of each accepted message, with its parts joined."""
        whole: dict[tuple[str, int, int], dict[int, str]] = {}
        for each in self.accepted:
            alone = each.number if each.parts == 1 else 0
            whole.setdefault((each.destination, each.joined, alone), {})[each.part] = each.text
        return [
            (destination, "".join(parts[number] for number in sorted(parts)))
            for (destination, _, _), parts in whole.items()
        ]

    async def send_receipt(
        self, submitted: Submitted, stat: str = "DELIVRD", error: str = "000"
    ) -> None:
        """Send a receipt. `stat` is DELIVRD, UNDELIV, EXPIRED, REJECTD, DELETED or another
        state."""
        number = int(submitted.message_id, 16 if self.given_id == "hex" else 10)
        await self.send_receipt_of(self._write_id(number), submitted, stat, error)

    async def send_receipt_of(
        self, shown_id: str, submitted: Submitted, stat: str, error: str = "000"
    ) -> None:
        arrived = "001" if stat == "DELIVRD" else "000"
        text = (
            f"id:{shown_id} sub:001 dlvrd:{arrived} submit date:2601010101 "
            f"done date:2601010102 stat:{stat} err:{error} text:"
        )
        await self._deliver(submitted.destination, submitted.source, text.encode(), _IS_RECEIPT)

    async def send_incoming(self, source: str, destination: str, text: str) -> None:
        """Send a message from a telephone to the gateway."""
        await self._deliver(source, destination, text.encode("utf-16-be"), 0, coding=_UCS2)

    async def unbind(self) -> None:
        """Ask the gateway to close its connections, as before maintenance."""
        for writer in self._writers:
            self._sequence += 1
            writer.write(_write(UNBIND, OK, self._sequence))
            await writer.drain()

    async def drop_links(self) -> None:
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    def _write_id(self, number: int) -> str:
        match self.receipt_id:
            case "hex":
                return f"{number:X}"
            case "padded":
                return f"{number:010d}"
            case _:
                return str(number)

    async def _deliver(
        self, source: str, destination: str, content: bytes, esm_class: int, *, coding: int = 0
    ) -> None:
        body = (
            b"\0\x01\x01" + source.lstrip("+").encode() + b"\0"
            b"\x01\x01" + destination.lstrip("+").encode() + b"\0"
            + bytes([esm_class, 0, 0, 0, 0, 0, 0, coding, 0, len(content)]) + content
        )  # fmt: skip
        self._sequence += 1
        writer = self._writers[-1]
        writer.write(_write(DELIVER_SM, OK, self._sequence, body))
        await writer.drain()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        await self.drop_links()
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                length, command, _status, sequence = struct.unpack(
                    ">IIII", await reader.readexactly(16)
                )
                if not 16 <= length <= _MAX_BYTES:
                    break
                body = await reader.readexactly(length - 16)
                if not await self._answer(writer, command, sequence, body):
                    break
        writer.close()
        if writer in self._writers:
            self._writers.remove(writer)

    async def _answer(
        self, writer: asyncio.StreamWriter, command: int, sequence: int, body: bytes
    ) -> bool:
        """Respond and return whether the connection stays open."""
        match command:
            case _ if command & RESPONSE:
                return True
            case 0x01 | 0x02 | 0x09:
                return self._bind(writer, command, sequence, body)
            case 0x15:
                self.links += 1
                if self.answers_links:
                    writer.write(_write(ENQUIRE_LINK | RESPONSE, OK, sequence))
            case 0x06:
                writer.write(_write(UNBIND | RESPONSE, OK, sequence))
                return False
            case 0x04:
                return await self._take(writer, sequence, body)
            case _:
                writer.write(_write(GENERIC_NACK, 0x03, sequence))
        return True

    def _bind(self, writer: asyncio.StreamWriter, command: int, sequence: int, body: bytes) -> bool:
        _user, password = body.split(b"\0")[:2]
        self.binds += 1
        is_right = password.decode() == self.password and self.accepts_clients
        status = OK if is_right else BIND_FAILED
        writer.write(_write(command | RESPONSE, status, sequence, b"SIM\0"))
        if is_right:
            self._writers.append(writer)
        return is_right

    async def _take(self, writer: asyncio.StreamWriter, sequence: int, body: bytes) -> bool:
        number = len(self.submitted) + 1
        message_id = f"{0xA0000 + number:X}" if self.given_id == "hex" else str(900_000 + number)
        submitted = read_submission(body, number, message_id)
        self.submitted.append(submitted)
        answer = self.answer(submitted)
        if isinstance(answer, Drop):
            return False
        if isinstance(answer, Stall):
            return True
        if answer == OK:
            self.accepted.append(submitted)
        shown = message_id.encode() + b"\0" if answer == OK else b""
        writer.write(_write(SUBMIT_SM | RESPONSE, answer, sequence, shown))
        await writer.drain()
        if answer == OK and self.receipts_at_once and submitted.wants_receipt:
            await self.send_receipt(submitted, self.receipts_at_once)
        return True


def read_submission(body: bytes, number: int, message_id: str) -> Submitted:
    """Parse the body of a submit_sm."""
    _service, rest = body.split(b"\0", 1)
    source, rest = rest[2:].split(b"\0", 1)
    destination, rest = rest[2:].split(b"\0", 1)
    esm_class = rest[0]
    _schedule, rest = rest[3:].split(b"\0", 1)
    _validity, rest = rest.split(b"\0", 1)
    registered, coding, length = rest[0], rest[2], rest[4]
    content = rest[5 : 5 + length]
    part, parts, joined = 1, 1, 0
    if esm_class & _HAS_HEADER:
        header, content = content[1 : 1 + content[0]], content[1 + content[0] :]
        if header[:2] == b"\0\x03":
            joined, parts, part = header[2:5]
    text = content.decode("utf-16-be") if coding & 0x0C == _UCS2 else _decode(content)
    return Submitted(
        number, message_id, source.decode(), destination.decode(), text,
        part, parts, joined, wants_receipt=bool(registered & 0x01),
    )  # fmt: skip


def _decode(content: bytes) -> str:
    text, is_escaped = [], False
    for septet in content:
        if septet == 0x1B:
            is_escaped = True
            continue
        text.append(_EXTENSION.get(septet, "?") if is_escaped else _ALPHABET[septet & 0x7F])
        is_escaped = False
    return "".join(text)


def _write(command: int, status: int, sequence: int, body: bytes = b"") -> bytes:
    return struct.pack(">IIII", 16 + len(body), command, status, sequence) + body


@asynccontextmanager
async def an_sms_centre() -> AsyncIterator[SmsCentre]:
    centre = SmsCentre()
    await centre.start()
    try:
        yield centre
    finally:
        await centre.stop()
