"""What Twilio calls back: reports of messages, and messages from telephones, each signed. Pure.

The signature is base64 of HMAC-SHA1, with the account's auth token, over the public address and
the form's pairs in the order of their names.
"""

import hmac
from base64 import b64encode
from collections.abc import Sequence

from dunwell.adapters.channels.incoming import Forged, read_text
from dunwell.contact.sending.incoming_sms import Incoming
from dunwell.contact.sending.report import Cause, Reference, Report, ReportState

_STATES: dict[str, ReportState] = {
    "delivered": "DELIVERED", "undelivered": "FAILED", "failed": "FAILED",
}  # fmt: skip
# https://www.twilio.com/docs/api/errors: the number; then our account, our sender, our content.
_NOBODY_THERE = frozenset({"21211", "21610", "21614", "30005"})
_ABOUT_US = frozenset({"21606", "30001", "30002", "30007", "30032", "30034", "30038"})
_MOST_OF_AN_ID = 100

Pairs = Sequence[tuple[str, str]]


def sign(token: bytes, address: str, pairs: Pairs) -> str:
    signed = address + "".join(name + value for name, value in sorted(set(pairs)))
    return b64encode(hmac.digest(token, signed.encode("utf-8", "surrogateescape"), "sha1")).decode()


def check_signature(token: bytes | None, address: str, pairs: Pairs, signature: str) -> None:
    """address: as the provider was given it. Raises Forged."""
    is_right = token is not None and hmac.compare_digest(
        sign(token, address, pairs).encode(), signature.encode()
    )
    if not is_right:
        raise Forged("The signature is another one.")


def read_report(line: str, reference: Reference | None, pairs: Pairs, raw: bytes) -> Report | None:
    """Of a call whose signature is right. None: it says nothing final. reference: none where the
    address holds none of ours."""
    values = dict(pairs)
    state = _STATES.get(values.get("MessageStatus", ""))
    if state is None:
        return None
    code = values.get("ErrorCode", "")
    code = code if code.isascii() and code.isdecimal() and len(code) < 8 else ""
    has_failed = state == "FAILED"
    reason = f"The provider reported error {code or 'without a number'}." if has_failed else ""
    return Report(
        line=line,
        provider_id=read_text(values.get("MessageSid", ""), _MOST_OF_AN_ID),
        state=state,
        happened_at=None,
        reference=reference,
        reason=reason,
        cause=_find_cause(code) if has_failed else "OTHER",
        raw=raw,
    )


def _find_cause(code: str) -> Cause:
    if code in _NOBODY_THERE:
        return "ADDRESS"
    return "ABOUT_US" if code in _ABOUT_US else "OTHER"


def read_incoming(line: str, pairs: Pairs) -> Incoming:
    """Of a call whose signature is right."""
    values = dict(pairs)
    return Incoming(
        line=line,
        provider_id=read_text(values.get("MessageSid", ""), _MOST_OF_AN_ID),
        sender=read_text(values.get("From", ""), 40),
        recipient=read_text(values.get("To", ""), 20),
        text=read_text(values.get("Body", ""), 1_600),
    )
