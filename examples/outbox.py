"""Messages as the outbox stores them: an .eml file of an e-mail, a .json file of an SMS or letter.

The .pdf file of a letter is what would be printed. Its .json file contains the recipient.
"""

import email
import email.policy
import json
import re
from dataclasses import dataclass
from pathlib import Path

_LINK = re.compile(r"https?://\S+/q/[\w-]+")


@dataclass(frozen=True)
class SentMessage:
    recipient: str
    # The first line if the message is an SMS.
    subject: str
    # The debtor's link. It is None for a letter, whose link is only in its PDF.
    link: str | None


def read_message(data_dir: Path, merchant_id: int, communication: dict[str, str]) -> SentMessage:
    """Read a message. `communication` has the channel and reference of an ESCALATED event."""
    channel, reference = communication["channel"], communication["reference"]
    folder = data_dir / "outbox" / str(merchant_id) / channel
    if channel == "EMAIL":
        return _read_email((folder / f"{reference}.eml").read_bytes())
    record = json.loads((folder / f"{reference}.json").read_text())
    if channel == "SMS":
        text = record["text"]
        return SentMessage(record["recipient"], text.splitlines()[0], _find_link(text))
    recipient = ", ".join(record["recipient"].splitlines())
    return SentMessage(recipient, record["subject"], None)


def list_emails(data_dir: Path, merchant_id: int, recipient: str) -> dict[Path, str]:
    """Return the subjects of the e-mails to a recipient by their files, the oldest first."""
    found = {}
    folder = data_dir / "outbox" / str(merchant_id) / "EMAIL"
    for path in sorted(folder.glob("*.eml"), key=lambda each: each.stat().st_mtime_ns):
        message = _read_email(path.read_bytes())
        if message.recipient == recipient:
            found[path] = message.subject
    return found


def _read_email(content: bytes) -> SentMessage:
    message = email.message_from_bytes(content, policy=email.policy.default)
    body = message.get_body(("plain",))
    text = body.get_content() if body is not None else ""
    return SentMessage(str(message["To"]), str(message["Subject"]), _find_link(text))


def _find_link(text: str) -> str | None:
    found = _LINK.search(text)
    return found.group() if found else None
