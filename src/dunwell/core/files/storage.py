"""Storage of encrypted file contents, in a local folder or an object store, behind one API
(obstore)."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import unquote, urlsplit
from uuid import UUID

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import LocalStore, ObjectStore, from_url

from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

# The time limit of a request. A thread can take longer: attempts of an object store end after 30 s
# each.
TIMEOUT_SECONDS = 20.0
_THREADS = 16
# Requests that fail are retried within the time limit; requests that hang are not. No other option
# is set here, because it would override the usual environment variables of the object store.
_RETRY: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=10)}

Result = TypeVar("Result")


class ContentMissing(Exception):  # noqa: N818 - the suffix Error would add nothing
    """Nothing is stored under the key."""


class Storage:
    """File contents by key, in a local folder or an object store."""

    def __init__(self, store: ObjectStore, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._store = store
        self._timeout_seconds = timeout_seconds
        self._threads = ThreadPoolExecutor(_THREADS, "storage")

    @classmethod
    def open(cls, url: str, timeout_seconds: float = TIMEOUT_SECONDS) -> Self:
        """Open the storage at a file:// or s3:// address. A missing local folder is created. The
        credentials of an object store come from its usual environment variables."""
        parts = urlsplit(url)
        if parts.scheme == "file":
            return cls(LocalStore(Path(unquote(parts.path)), mkdir=True), timeout_seconds)
        store = from_url(url, retry_config=_RETRY)
        return cls(store, timeout_seconds)

    async def save(self, key: str, content: bytes) -> None:
        """Store the content. Raises Unavailable."""
        try:
            await self._call(obstore.put, self._store, key, content)
        except (BaseError, OSError) as error:
            raise _build_unavailable() from error

    async def load(self, key: str) -> bytes:
        """Return the content. Raises ContentMissing, Unavailable."""
        try:
            return await self._call(self._load, key)
        except (NotFoundError, FileNotFoundError) as error:
            raise ContentMissing(key) from error
        except (BaseError, OSError) as error:
            raise _build_unavailable() from error

    async def remove(self, key: str) -> None:
        """Delete the content, if it exists. Raises Unavailable."""
        try:
            await self._call(obstore.delete, self._store, key)
        except (NotFoundError, FileNotFoundError):
            return
        except (BaseError, OSError) as error:
            raise _build_unavailable() from error

    async def _call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run the function in a thread. Raises TimeoutError, which is an OSError; the thread then
        continues."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)
        async with asyncio.timeout(self._timeout_seconds):
            return await future

    def _load(self, key: str) -> bytes:
        return bytes(obstore.get(self._store, key).bytes())


def build_upload_key(merchant_id: int, ticket_id: UUID) -> str:
    """Return the storage key of an upload."""
    return f"{merchant_id}/uploads/{ticket_id}"


def _build_unavailable() -> Unavailable:
    return Unavailable("The file storage is not available. Try again shortly.")


# Encrypted contents begin with this mark. No accepted type does: a PDF begins with "%PDF-", a JPEG
# with FF D8, a PNG with 89 50, a WebP with "RIFF".
SEALED_HEAD = b"\x01dunwell sealed\n"
_PURPOSE = "upload"


class SealedFiles:
    """Stores file contents encrypted, each bound to its key."""

    def __init__(self, storage: Storage, keys: KeyRing) -> None:
        self._storage = storage
        self._keys = keys

    @classmethod
    def open(cls, resources: Resources) -> Self:
        """Open the storage that the settings name."""
        return cls(Storage.open(resources.settings.files_url), resources.keys)

    async def save(self, key: str, content: bytes) -> None:
        """Encrypt and store the content. Raises Unavailable."""
        # Done in a thread, because encrypting ten megabytes would delay other requests.
        sealed = await asyncio.to_thread(self._keys.seal, _PURPOSE, content, bound_to=key)
        await self._storage.save(key, SEALED_HEAD + sealed)

    async def load(self, key: str) -> bytes:
        """Return the decrypted content, or the content as it is if it was stored unencrypted.
        Raises ContentMissing, Unavailable, and DecryptionFailed if the stored content was modified
        or its secret key is not configured."""
        stored = await self._storage.load(key)
        if not stored.startswith(SEALED_HEAD):
            return stored
        return await asyncio.to_thread(
            self._keys.open, _PURPOSE, stored[len(SEALED_HEAD) :], bound_to=key
        )

    async def remove(self, key: str) -> None:
        """Delete the content, if it exists. Raises Unavailable."""
        await self._storage.remove(key)
