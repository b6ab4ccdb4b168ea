"""Uploads in the file storage, sealed with the installation's key: the storage alone tells nobody
what debtors and merchants sent.

What was kept before uploads were sealed stays readable. The two are told apart for certain: a
sealed one begins with a head that no type of file that is taken begins with. Sizes and hashes in
the database are those of the content.
"""

import asyncio
from typing import Self

from dunwell.core.files.storage import Storage
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources

# A PDF begins with "%PDF-", a JPEG with FF D8, a PNG with 89 50, a WebP with "RIFF".
HEAD = b"\x01dunwell sealed\n"
_PURPOSE = "upload"


class SealedFiles:
    def __init__(self, storage: Storage, keys: KeyRing) -> None:
        self._storage = storage
        self._keys = keys

    @classmethod
    def open(cls, resources: Resources) -> Self:
        return cls(Storage.open(resources.settings.files_url), resources.keys)

    async def save(self, key: str, content: bytes) -> None:
        """Raises Unavailable."""
        # Ten megabytes take long enough to seal to be noticed by other requests.
        sealed = await asyncio.to_thread(self._keys.seal, _PURPOSE, content, bound_to=key)
        await self._storage.save(key, HEAD + sealed)

    async def load(self, key: str) -> bytes:
        """Raises ContentMissing, Unavailable, and SealBroken for one that was changed."""
        kept = await self._storage.load(key)
        if not kept.startswith(HEAD):
            return kept
        return await asyncio.to_thread(self._keys.open, _PURPOSE, kept[len(HEAD) :], bound_to=key)

    async def remove(self, key: str) -> None:
        """What is gone already counts as removed. Raises Unavailable."""
        await self._storage.remove(key)
