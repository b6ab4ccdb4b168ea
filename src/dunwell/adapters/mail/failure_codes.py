"""What a mail server's status means for an address (RFC 3463), and finding one in what it says.
Pure."""

import re
from dataclasses import dataclass

from dunwell.contact.sending.report import Cause

# Neither a part of an IP address nor of a version.
_ENHANCED = re.compile(r"(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d]|\.\d)")
_BASIC = re.compile(r"(?<![\d.-])([45]\d\d)(?=[ \-:#]|$)(?!\.\d)")
# Of sender addresses: ours.
_OUR_ADDRESS = ((1, 7), (1, 8))
# What is said where a code says nothing; the first that fits. What we are blamed for comes first:
# "mailbox unavailable (blocked)" is no word about the person.
_WORDS: tuple[tuple[Cause, str, re.Pattern[str]], ...] = (
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
_LONGEST_SEARCHED = 16_384


@dataclass(frozen=True, slots=True)
class Failure:
    """reason: a code or words of ours, never the server's, which may name the person."""

    cause: Cause
    reason: str


def read_status(text: str) -> Failure | None:
    """Of a status such as "5.1.1". None: it is none, or says nothing ("5.0.0")."""
    found = _ENHANCED.search(text)
    if found is None or found[2] == "0":
        return None
    return Failure(_judge(int(found[1]), int(found[2]), int(found[3])), found[0])


def read_diagnostic(text: str) -> Failure | None:
    """Of what a server said: by its enhanced code, else by its words and its code of three digits.
    None: there is no code in it, and no words that are known."""
    text = text[:_LONGEST_SEARCHED]
    for found in _ENHANCED.finditer(text):
        failure = read_status(found[0])
        if failure is not None:
            return failure
    basic = _BASIC.search(text)
    code = "" if basic is None else basic[1]
    if code.startswith("4"):
        return Failure("OTHER", code)
    for cause, words, pattern in _WORDS:
        if pattern.search(text):
            return Failure(cause, f"{code} {words}".strip())
    return Failure("OTHER", code) if code else None


def _judge(kind: int, subject: int, detail: int) -> Cause:
    if kind != 5:
        return "OTHER"
    if subject == 7 or (subject, detail) in _OUR_ADDRESS:
        return "ABOUT_US"
    if subject == 1 or (subject, detail) == (2, 1):
        return "ADDRESS"
    return "OTHER"
