"""Reads reports of mail servers: delivery status notifications (RFC 3464) by the standard library,
and what older or stranger servers write by `flufl.bounce`.

What cannot be read is said to be unreadable; no code is ever made up. Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message

from flufl.bounce import all_failures

from dunwell.adapters.mail.failure_codes import Failure, read_diagnostic, read_status
from dunwell.contact.sending.report import Cause, ReportState

UNREADABLE = Failure("OTHER", "unreadable")
_STATES: dict[str, ReportState] = {
    "failed": "FAILED",
    "delayed": "DELAYED",
    "delivered": "DELIVERED",
    # Handed on to where nothing is reported: as it was.
    "relayed": "DELAYED",
    "expanded": "DELAYED",
}
# The worst of several recipients counts; we write to one.
_WORST: tuple[ReportState, ...] = ("FAILED", "DELAYED", "DELIVERED")
_MOST_TEXT = 32_768


@dataclass(frozen=True, slots=True)
class Bounce:
    state: ReportState
    cause: Cause
    reason: str


def read_bounce(message: Message, beginning: Message | None = None) -> Bounce | None:
    """Return None for what is no report that can be read.

    beginning: the message parsed from its first part alone, where it is large. The library looks
    at each line many times, which takes seconds for an attachment of 10 MiB, and a report that it
    knows says at its beginning what failed.
    """
    return _read_status_part(message) or _read_by_shape(message if beginning is None else beginning)


def _read_status_part(message: Message) -> Bounce | None:
    found = [_read_block(block, message) for block in _list_blocks(message)]
    bounces = [each for each in found if each is not None]
    by_state = (each for state in _WORST for each in bounces if each.state == state)
    return next(by_state, None)


def _list_blocks(message: Message) -> Iterator[Message]:
    """The parts of a report that are about one recipient each."""
    for part in message.walk():
        if part.get_content_type() in (
            "message/delivery-status",
            "message/global-delivery-status",
        ):
            payload = part.get_payload()
            blocks = payload if isinstance(payload, list) else []
            yield from (each for each in blocks if isinstance(each, Message) and each["Action"])


def _read_block(block: Message, message: Message) -> Bounce | None:
    words = str(block["Action"]).split()
    state = _STATES.get(words[0].lower().strip(";,")) if words else None
    if state is None:
        return None
    if state != "FAILED":
        return Bounce(state, "OTHER", "")
    status = read_status(str(block["Status"] or ""))
    failure = (
        status
        or read_diagnostic(str(block["Diagnostic-Code"] or ""))
        or read_diagnostic(_read_text(message))
        or UNREADABLE
    )
    return Bounce("FAILED", failure.cause, failure.reason)


def _read_by_shape(message: Message) -> Bounce | None:
    try:
        temporary, permanent = all_failures(message)
    except Exception:  # noqa: BLE001 - whatever strangers' bytes do to a reader of theirs
        return None
    if permanent:
        failure = read_diagnostic(_read_text(message)) or UNREADABLE
        return Bounce("FAILED", failure.cause, failure.reason)
    return Bounce("DELAYED", "OTHER", "") if temporary else None


def _read_text(message: Message) -> str:
    """What a person would read of it, without our own message in it."""
    for part in message.walk():
        if part.get_content_type() == "text/plain":
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes):
                return payload[:_MOST_TEXT].decode("utf-8", errors="replace")
            break
    return ""
