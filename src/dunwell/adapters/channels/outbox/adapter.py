"""E-mail into files: one `.eml` per communication id under the data folder, nothing is sent.

Files are written on the event loop: a write and a rename of some kilobytes take less time than
handing them to a thread (measured). They are not synced to disk, for a lost file loses no debt.
"""

import itertools
import os
from pathlib import Path

from dunwell.adapters.channels.internet_message import AddressUnusable, build_internet_message
from dunwell.merchants.configuration import Channel
from dunwell.messages.channel import Accepted, Message, Outcome, Permanent, Temporary

_RETRY_AFTER_SECONDS = 60


class OutboxEmail:
    """Repeatable: an id names one file, and the same message gives the same bytes."""

    name = "outbox"
    channel: Channel = "EMAIL"
    is_repeatable = True

    def __init__(self, data_dir: Path) -> None:
        self._folder = outbox_folder(data_dir)
        self._drafts = itertools.count()

    async def send(self, message: Message) -> Outcome:
        """Accepted once the file has its name; Temporary when the disk does not take it."""
        try:
            content = build_internet_message(message)
        except AddressUnusable:
            return Permanent("The e-mail address cannot be written into a message.")
        try:
            self._write(email_path(self._folder, message), content)
        except OSError:
            return Temporary(_RETRY_AFTER_SECONDS)
        return Accepted()

    def _write(self, path: Path, content: bytes) -> None:
        """Under a name of its own first, so that nobody ever reads half a message."""
        draft = path.with_name(f".{path.stem}.{os.getpid()}-{next(self._drafts)}.part")
        try:
            try:
                draft.write_bytes(content)
            except FileNotFoundError:
                draft.parent.mkdir(parents=True, exist_ok=True)
                draft.write_bytes(content)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise


def outbox_folder(data_dir: Path) -> Path:
    return data_dir / "outbox"


def email_path(folder: Path, message: Message) -> Path:
    """Numbers and a UUID: nothing a debtor or merchant wrote becomes a part of a path."""
    return folder / str(message.merchant_id) / "EMAIL" / f"{message.communication_id}.eml"
