"""A call of a gateway to us, in the words of its line's kind: what it reports or brings, and what
it is answered. Pure.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from dunwell.accounts.installation.delivery_providers import KannelLine, TwilioLine
from dunwell.adapters.channels.incoming import Forged
from dunwell.adapters.channels.kannel import reading as kannel
from dunwell.adapters.channels.twilio import reading as twilio
from dunwell.contact.sending.incoming_sms import Incoming
from dunwell.contact.sending.report import Reference, Report

_MOST_VALUES = 60


class Call(ABC):
    """Its methods raise Forged where it proves nothing."""

    @abstractmethod
    def read_report(self, reference: Reference | None, written: str) -> Report | None:
        """reference: the one in the address, if it is ours. None: it says nothing final."""

    @abstractmethod
    def read_incoming(self) -> Incoming: ...

    @abstractmethod
    def write_answer(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        """What goes back to whoever wrote, and its media type."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came. address: the public one, without what stands behind `?`."""

    address: str
    query: bytes
    body: bytes
    # Twilio's; empty: none came.
    signature: str


def make_call(
    name: str, line: KannelLine | TwilioLine, secrets: Mapping[str, bytes], received: Received
) -> Call:
    """Raises Forged."""
    if isinstance(line, TwilioLine):
        token = secrets.get(f"lines/{name}/credentials/passwordFile")
        pairs = _split(received.body, "utf-8")
        if received.query:
            raise Forged("An address of ours has nothing behind its path.")
        twilio.check_signature(token, received.address, pairs, received.signature)
        return _TwilioCall(name, line, pairs, received.body)
    secret = secrets.get(f"lines/{name}/incomingSecretFile")
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
    line: KannelLine
    values: Mapping[str, str]
    raw: bytes
    secret: bytes | None

    def read_report(self, reference: Reference | None, written: str) -> Report | None:
        """Nothing but the reference proves it."""
        if reference is None:
            raise Forged("The address is none that we gave to a gateway.")
        return kannel.read_report(
            self.name, reference, written=written, values=self.values, raw=self.raw
        )

    def read_incoming(self) -> Incoming:
        return kannel.read_incoming(self.name, self.secret, self.values)

    def write_answer(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        words = self.line.stop_confirmation if is_suppressed else None
        return (words or "").encode(), "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _TwilioCall(Call):
    """Its signature was right."""

    name: str
    line: TwilioLine
    pairs: twilio.Pairs
    raw: bytes

    def read_report(
        self,
        reference: Reference | None,
        written: str,  # noqa: ARG002 - the signature proves it
    ) -> Report | None:
        return twilio.read_report(self.name, reference, self.pairs, self.raw)

    def read_incoming(self) -> Incoming:
        return twilio.read_incoming(self.name, self.pairs)

    def write_answer(self, *, is_suppressed: bool) -> tuple[bytes, str]:
        words = self.line.stop_confirmation if is_suppressed else None
        message = f"<Message>{escape(words)}</Message>" if words else ""
        return f"<Response>{message}</Response>".encode(), "text/xml; charset=utf-8"
