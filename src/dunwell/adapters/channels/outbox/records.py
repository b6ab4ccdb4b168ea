"""What the outbox's JSON files hold: an SMS, or what a letter's PDF does not tell. Pure."""

from datetime import datetime

import msgspec


class SmsRecord(msgspec.Struct, frozen=True):
    sender: str
    recipient: str
    text: str
    language: str
    dated_at: datetime
    alphabet: str
    parts: int


class LetterRecord(msgspec.Struct, frozen=True):
    sender: str
    # The window's lines.
    recipient: str
    subject: str
    language: str
    dated_at: datetime
    # File names; the files stand beside the letter as <id>.1.pdf, <id>.2.png, ...
    enclosures: list[str]
