"""The outbox's folder and its files: <data_dir>/outbox/<merchant>/<channel>/<communication
id>.<ending>."""

import itertools
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.sending.channel import Message
from dunwell.platform.crypto import KeyRing


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
    # The lines in the envelope's window.
    recipient: str
    subject: str
    language: str
    dated_at: datetime
    # The names of the files. They are stored next to the letter as <id>.1.pdf, <id>.2.png, ...
    enclosures: list[str]


# The folder with a mark for each message that is to be reported as undeliverable.
_FAILS_LATER = "fails-later"
# Appended to the name of an encrypted file.
SEALED = ".sealed"
_PURPOSE = "outbox"


class OutboxFolder:
    def __init__(self, data_dir: Path, keys: KeyRing | None = None) -> None:
        """`keys` encrypt the files. Without them, files are not encrypted."""
        self.path = get_outbox_folder(data_dir)
        self._keys = keys
        self._drafts = itertools.count()

    def build_path(self, channel: Channel, message: Message, ending: str) -> Path:
        """Return the path of a message's file. It consists of numbers and a UUID; no part of it
        comes from a debtor or merchant."""
        name = f"{message.communication_id}{ending}"
        return self.path / str(message.merchant_id) / channel / name

    def write(self, path: Path, content: bytes) -> None:
        """Write a file under a temporary name and rename it, so that no reader sees half a message.
        Raises OSError."""
        if self._keys is not None:
            content = self._keys.seal(_PURPOSE, content, bound_to=self._render_binding(path))
            path = path.with_name(path.name + SEALED)
        draft = path.with_name(f".{path.name}.{os.getpid()}-{next(self._drafts)}.part")
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

    def read(self, path: Path) -> bytes:
        """Return the content of a file. Raises OSError, and DecryptionFailed if it cannot be
        decrypted."""
        if self._keys is None:
            return path.read_bytes()
        sealed = path.with_name(path.name + SEALED).read_bytes()
        return self._keys.open(_PURPOSE, sealed, bound_to=self._render_binding(path))

    def _render_binding(self, path: Path) -> str:
        """Return the text that the encrypted file is bound to."""
        return path.relative_to(self.path).as_posix()

    def build_mark_path(self, message: Message) -> Path:
        return self.path / _FAILS_LATER / f"{message.merchant_id}.{message.communication_id}"


def load_message_files(
    data_dir: Path, keys: KeyRing, communication_id: UUID
) -> Mapping[str, bytes]:
    """Return the files of a message of any merchant, by their names without the suffix for
    encryption. The result is empty if there is no such message. Raises OSError, and
    DecryptionFailed if one cannot be decrypted."""
    plain, sealed = OutboxFolder(data_dir), OutboxFolder(data_dir, keys)
    contents = {}
    for path in sorted(plain.path.glob(f"[0-9]*/*/{communication_id}.*")):
        plain_path = path.with_name(path.name.removesuffix(SEALED))
        contents[plain_path.name] = (plain if plain_path == path else sealed).read(plain_path)
    return contents


def list_marks(data_dir: Path) -> list[tuple[Path, int, UUID]]:
    """Return the marked messages: the path of the mark, the merchant's id and the communication's
    id."""
    marks = []
    for path in sorted((get_outbox_folder(data_dir) / _FAILS_LATER).glob("[0-9]*")):
        merchant_id, _, communication_id = path.name.removesuffix(SEALED).partition(".")
        marks.append((path, int(merchant_id), UUID(communication_id)))
    return marks


def get_outbox_folder(data_dir: Path) -> Path:
    return data_dir / "outbox"
