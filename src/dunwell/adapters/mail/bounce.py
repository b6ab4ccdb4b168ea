"""Read bounces: delivery status notifications (RFC 3464) and the formats of older servers, and what
a status says about an address (RFC 3463). Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message

from flufl.bounce import all_failures

from dunwell.contact.sending.report import FailureCause, ReportState

# An enhanced status code such as 5.1.1, unless it is part of an IP address or of a version number.
_ENHANCED = re.compile(r"(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d]|\.\d)")
_BASIC = re.compile(r"(?<![\d.-])([45]\d\d)(?=[ \-:#]|$)(?!\.\d)")
# Subject and detail of the codes about the sender's address, which is ours.
_OUR_ADDRESS = ((1, 7), (1, 8))
# Patterns for a text without a code; the first that matches is used. Texts that blame the sender
# come first: "mailbox unavailable (blocked)" says nothing about the recipient.
_TEXT_PATTERNS: tuple[tuple[FailureCause, str, re.Pattern[str]], ...] = (
    (
        "ABOUT_US",
        "refused as unwanted",
        re.compile(
            r"spam|blacklist|block ?list|blocked|reputation|dmarc|\bspf\b|\bdkim\b|policy|"
            r"authenticat|banned|listed (?:at|on|in|by)|access denied|relay",
            re.IGNORECASE,
        ),
    ),
    (
        "OTHER",
        "mailbox full",
        re.compile(r"quota|mailbox (?:is )?full|over ?quota|insufficient.*storage", re.IGNORECASE),
    ),
    (
        "ADDRESS",
        "address unknown",
        re.compile(
            r"(?:user|recipient|mailbox|account|address)[^.\n]{0,40}"
            r"(?:unknown|not (?:be )?found|not exist|doesn't exist|disabled|inactive|no longer)|"
            r"(?:unknown|no such|invalid) (?:local )?(?:user|recipient|mailbox|account|address)|"
            r"existiert nicht|unbekannt",
            re.IGNORECASE,
        ),
    ),
)
_MAX_SEARCHED = 16_384


@dataclass(frozen=True, slots=True)
class MailFailure:
    """Why a mail failed. `reason` is a code or a fixed text, never the server's text, which may
    name the recipient."""

    cause: FailureCause
    reason: str


def parse_status(text: str) -> MailFailure | None:
    """Interpret a status such as "5.1.1". Return None if it is not a status or says nothing
    ("5.0.0")."""
    match = _ENHANCED.search(text)
    if match is None or match[2] == "0":
        return None
    return MailFailure(_classify(int(match[1]), int(match[2]), int(match[3])), match[0])


def parse_diagnostic(text: str) -> MailFailure | None:
    """Interpret a server's text by its enhanced code or, without one, by its words and its
    three-digit code. Return None if it has no code and no known words."""
    text = text[:_MAX_SEARCHED]
    for match in _ENHANCED.finditer(text):
        failure = parse_status(match[0])
        if failure is not None:
            return failure
    basic_match = _BASIC.search(text)
    code = "" if basic_match is None else basic_match[1]
    if code.startswith("4"):
        return MailFailure("OTHER", code)
    for cause, words, pattern in _TEXT_PATTERNS:
        if pattern.search(text):
            return MailFailure(cause, f"{code} {words}".strip())
    return MailFailure("OTHER", code) if code else None


def _classify(kind: int, subject: int, detail: int) -> FailureCause:
    if kind != 5:
        return "OTHER"
    if subject == 7 or (subject, detail) in _OUR_ADDRESS:
        return "ABOUT_US"
    if subject == 1 or (subject, detail) == (2, 1):
        return "ADDRESS"
    return "OTHER"


UNREADABLE = MailFailure("OTHER", "unreadable")
_STATES: dict[str, ReportState] = {
    "failed": "FAILED",
    "delayed": "DELAYED",
    "delivered": "DELIVERED",
    # Passed on to a server that reports nothing, so the state stays as it was.
    "relayed": "DELAYED",
    "expanded": "DELAYED",
}
# The worst state of several recipients counts. Our messages have only one.
_BY_SEVERITY: tuple[ReportState, ...] = ("FAILED", "DELAYED", "DELIVERED")
_MAX_TEXT = 32_768


@dataclass(frozen=True, slots=True)
class Bounce:
    state: ReportState
    cause: FailureCause
    reason: str


def parse_bounce(message: Message, beginning: Message | None = None) -> Bounce | None:
    """Return the bounce, or None if this is not a readable report.

    `beginning` is the result of parsing only the first bytes of a large message. The library
    examines each line many times, which takes seconds for an attachment of 10 MiB, and every report
    that it knows says at the beginning what failed.
    """
    return _parse_status_part(message) or _parse_other_formats(
        message if beginning is None else beginning
    )


def _parse_status_part(message: Message) -> Bounce | None:
    parsed_blocks = [_parse_block(block, message) for block in _list_blocks(message)]
    bounces = [bounce for bounce in parsed_blocks if bounce is not None]
    by_state = (bounce for state in _BY_SEVERITY for bounce in bounces if bounce.state == state)
    return next(by_state, None)


def _list_blocks(message: Message) -> Iterator[Message]:
    """Yield the parts of a report, each of which is about one recipient."""
    for part in message.walk():
        if part.get_content_type() in (
            "message/delivery-status",
            "message/global-delivery-status",
        ):
            payload = part.get_payload()
            blocks = payload if isinstance(payload, list) else []
            yield from (block for block in blocks if isinstance(block, Message) and block["Action"])


def _parse_block(block: Message, message: Message) -> Bounce | None:
    words = str(block["Action"]).split()
    state = _STATES.get(words[0].lower().strip(";,")) if words else None
    if state is None:
        return None
    if state != "FAILED":
        return Bounce(state, "OTHER", "")
    status = parse_status(str(block["Status"] or ""))
    failure = (
        status
        or parse_diagnostic(str(block["Diagnostic-Code"] or ""))
        or parse_diagnostic(_find_plain_text(message))
        or UNREADABLE
    )
    return Bounce("FAILED", failure.cause, failure.reason)


def _parse_other_formats(message: Message) -> Bounce | None:
    try:
        temporary, permanent = all_failures(message)
    except Exception:  # noqa: BLE001 - untrusted bytes can make the library raise anything
        return None
    if permanent:
        failure = parse_diagnostic(_find_plain_text(message)) or UNREADABLE
        return Bounce("FAILED", failure.cause, failure.reason)
    return Bounce("DELAYED", "OTHER", "") if temporary else None


def _find_plain_text(message: Message) -> str:
    """Return the first plain text part, which a person would read, or "". A copy of our own message
    comes after it."""
    for part in message.walk():
        if part.get_content_type() == "text/plain":
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes):
                return payload[:_MAX_TEXT].decode("utf-8", errors="replace")
            break
    return ""
