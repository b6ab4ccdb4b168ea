"""Letters as files: printed once, kept sealed, loaded again when sending was broken off.

A printed letter bears the debtor's link and code, which are kept nowhere else readable; so it is
sealed with the installation's key. Its key names its content: what is printed again alike is kept
once, and nothing that was handed over is ever overwritten.
"""

from collections.abc import Sequence
from uuid import UUID

import structlog

from dunwell.files.attachments import Attachment
from dunwell.files.content_types import PDF
from dunwell.files.storage import ContentMissing, Storage
from dunwell.kit.crypto import KeyRing, sha256
from dunwell.messages.letters.press import Press
from dunwell.messages.letters.sheet import Enclosure

_PURPOSE = "letter"
_DIGEST_BYTES = 16

log = structlog.get_logger(__name__)


class Printer:
    def __init__(self, storage: Storage, press: Press, keys: KeyRing) -> None:
        self._storage = storage
        self._press = press
        self._keys = keys

    async def print_letter(
        self, merchant_id: int, communication_id: UUID, sheet: bytes
    ) -> tuple[str, bytes]:
        """The key the letter is kept under, and its PDF. Raises Unprintable, Unavailable."""
        pdf = await self._press.print_sheet(sheet)
        digest = sha256(pdf)[:_DIGEST_BYTES].hex()
        key = f"{merchant_id}/letters/{communication_id}/{digest}"
        await self._storage.save(key, self._keys.seal(_PURPOSE, pdf, bound_to=key))
        return key, pdf

    async def load_letter(self, key: str) -> bytes:
        """Raises ContentMissing, Unavailable."""
        return self._keys.open(_PURPOSE, await self._storage.load(key), bound_to=key)

    async def describe(self, attachments: Sequence[Attachment]) -> list[Enclosure]:
        """The enclosures' names, with the pages of those that have any."""
        return [Enclosure(each.friendly_name, await self._count(each)) for each in attachments]

    async def _count(self, attachment: Attachment) -> int | None:
        if attachment.content_type != PDF:
            return None
        try:
            content = await self._storage.load(attachment.storage_key)
        except ContentMissing:
            log.exception("attachment lost", attachment_id=str(attachment.attachment_id))
            return None
        return await self._press.count_pages(content)
