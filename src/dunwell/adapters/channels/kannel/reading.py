"""What Kannel calls back: reports of messages, and messages from telephones. Pure.

A report's address holds the message's reference, which nobody but us could write; ids of the
provider are kept as they came, hexadecimal, decimal, or without their zeros. Kannel asks the
provider to report the first part of a message alone, so there is one report for each.
"""

import hmac
import re
from collections.abc import Mapping

from dunwell.adapters.channels.incoming import Forged, read_text
from dunwell.contact.sending.incoming_sms import Incoming
from dunwell.contact.sending.report import Cause, Reference, Report, ReportState

_STATES: dict[str, ReportState] = {"1": "DELIVERED", "2": "FAILED", "16": "FAILED"}
_ARRIVED: tuple[str, Cause] = ("", "OTHER")
_REFUSED = re.compile(r"NACK/0x0*([0-9a-fA-F]{1,8})(?:/|$)")
_RECEIPT = re.compile(r"stat:([A-Za-z]{1,10}).*?err:([0-9A-Za-z]{1,8})", re.DOTALL)
# SMPP 3.4, 5.1.3: what a provider says of a submission it refuses.
_NOBODY_THERE = frozenset({0x0B})
_ABOUT_US = frozenset({0x0A, 0x0D, 0x0E, 0x0F, 0x15, 0x48, 0x49})
_CHARSETS = {"UTF-16BE": "utf-16-be", "ISO-8859-1": "latin-1", "WINDOWS-1252": "cp1252"}
_MOST_OF_AN_ID = 100


def read_report(
    line: str, reference: Reference, written: str, values: Mapping[str, str], raw: bytes
) -> Report | None:
    """None: it says nothing final. written: the reference, as it stands in the address."""
    state = _STATES.get(values.get("type", ""))
    if state is None:
        return None
    reason, cause = _ARRIVED if state == "DELIVERED" else _read_reason(values.get("answer"))
    provider_id = read_text(values.get("id", ""), _MOST_OF_AN_ID)
    return Report(
        line=line,
        # Providers use ids again: with our reference it is this message's.
        provider_id=f"{written}/{provider_id}",
        state=state,
        happened_at=None,
        reference=reference,
        reason=reason,
        cause=cause,
        raw=raw,
        destination=read_text(values.get("country", ""), 2) or None,
    )


def _read_reason(answer: str | None) -> tuple[str, Cause]:
    if refused := _REFUSED.search(answer or ""):
        code = int(refused[1], 16)
        reason = f"The provider refused it: error 0x{code:02x}."
        if code in _NOBODY_THERE:
            return reason, "ADDRESS"
        return reason, "ABOUT_US" if code in _ABOUT_US else "OTHER"
    if receipt := _RECEIPT.search(answer or ""):
        return f"The provider reported {receipt[1].upper()}, error {receipt[2]}.", "OTHER"
    return "The provider reported that it failed.", "OTHER"


def read_incoming(line: str, secret: bytes | None, values: Mapping[str, str]) -> Incoming:
    """values: as bytes, one a letter. Raises Forged."""
    said = values.get("secret", "").encode("latin-1")
    if secret is None or not hmac.compare_digest(said, secret):
        raise Forged("The secret of incoming messages is another one.")
    text = values.get("text", "").encode("latin-1")
    charset = _CHARSETS.get(values.get("charset", "").upper(), "utf-8")
    return Incoming(
        line=line,
        provider_id=read_text(values.get("id", ""), _MOST_OF_AN_ID),
        sender=read_text(values.get("from", ""), 40),
        recipient=read_text(values.get("to", ""), 20),
        text=read_text(text.decode(charset, "replace"), 1_600),
    )
