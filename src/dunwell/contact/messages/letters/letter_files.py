"""Letters as files: printed once, stored encrypted, loaded again after an interruption, and
re-encrypted with a new version of the secret key."""

from collections.abc import Sequence
from typing import Self
from uuid import UUID

import structlog

from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.letters.sheet import Enclosure
from dunwell.core.files.storage import ContentMissing, SealedFiles, Storage
from dunwell.core.files.store import MessageAttachment
from dunwell.core.files.upload import PDF
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.resources import Resources

_PURPOSE = "letter"
_DIGEST_BYTES = 16

log = structlog.get_logger(__name__)


class LetterFiles:
    """Print and store letters. Must be closed, because the printer starts processes with the first
    letter."""

    def __init__(self, storage: Storage, printer: LetterPrinter, keys: KeyRing) -> None:
        self.storage = storage
        self.uploads = SealedFiles(storage, keys)
        self.printer = printer
        self._keys = keys

    @classmethod
    def open(cls, resources: Resources, printer: LetterPrinter | None = None) -> Self:
        """Open the storage. Start a printer unless `printer` is given."""
        printer = printer or LetterPrinter(fonts=resources.settings.fonts)
        return cls(Storage.open(resources.settings.files_url), printer, resources.keys)

    async def close(self) -> None:
        await self.printer.close()

    async def print_letter(
        self, merchant_id: int, communication_id: UUID, sheet: bytes
    ) -> tuple[str, bytes]:
        """Print and store a letter. Return its storage key and the PDF. Raises Unprintable
        (ScriptMissing if no font has the characters), Unavailable, and OSError if no printing
        process can be started."""
        pdf = await self.printer.print_sheet(sheet)
        digest = sha256(pdf)[:_DIGEST_BYTES].hex()
        key = f"{merchant_id}/letters/{communication_id}/{digest}"
        await self.storage.save(key, self._keys.seal(_PURPOSE, pdf, bound_to=key))
        return key, pdf

    async def load_letter(self, key: str) -> bytes:
        """Return the stored PDF. Raises ContentMissing, Unavailable."""
        return self._keys.open(_PURPOSE, await self.storage.load(key), bound_to=key)

    async def list_enclosures(self, attachments: Sequence[MessageAttachment]) -> list[Enclosure]:
        """Return the names of the attachments, with the number of pages of PDFs (None if a PDF is
        missing or unreadable). Raises Unavailable, and OSError if no printing process can be
        started."""
        return [
            Enclosure(each.friendly_name, await self._count_pages(each)) for each in attachments
        ]

    async def _count_pages(self, attachment: MessageAttachment) -> int | None:
        if attachment.content_type != PDF:
            return None
        try:
            content = await self.uploads.load(attachment.storage_key)
        except ContentMissing:
            log.exception("attachment missing", attachment_id=str(attachment.attachment_id))
            return None
        return await self.printer.count_pages(content)


async def reencrypt_letter(storage: Storage, keys: KeyRing, key: str) -> None:
    """Encrypt a stored letter with the current version of the secret key. Raises DecryptionFailed,
    ContentMissing, Unavailable."""
    sealed = await storage.load(key)
    resealed = keys.reseal(_PURPOSE, sealed, bound_to=key)
    if resealed != sealed:
        await storage.save(key, resealed)
