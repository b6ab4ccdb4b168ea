"""Where file contents are kept: a local folder or an object store, behind one API (obstore).

Keys begin with the merchant's id and are made of ids alone; no text from outside becomes a part of
one. Contents never change: a key is written once. Calls run in threads: obstore's own coroutines
call back into an interpreter that may be ending, which aborts the process.
"""

import asyncio
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit
from uuid import UUID

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import LocalStore, ObjectStore, from_url

from dunwell.errors import Unavailable


class ContentMissing(Exception):  # noqa: N818 - reads as what happened
    """Nothing is kept under the key."""


class Storage:
    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> Self:
        """The storage at a file:// or s3:// address; a local folder is made when it is missing.

        An object store's access comes from its usual environment variables.
        """
        parts = urlsplit(url)
        if parts.scheme == "file":
            return cls(LocalStore(Path(unquote(parts.path)), mkdir=True))
        return cls(from_url(url))

    async def save(self, key: str, content: bytes) -> None:
        """Raises Unavailable."""
        try:
            await asyncio.to_thread(obstore.put, self._store, key, content)
        except (BaseError, OSError) as error:
            raise _away() from error

    async def load(self, key: str) -> bytes:
        """Raises ContentMissing, Unavailable."""
        try:
            return await asyncio.to_thread(self._load, key)
        except (NotFoundError, FileNotFoundError) as error:
            raise ContentMissing(key) from error
        except (BaseError, OSError) as error:
            raise _away() from error

    async def remove(self, key: str) -> None:
        """What is gone already counts as removed. Raises Unavailable."""
        try:
            await asyncio.to_thread(obstore.delete, self._store, key)
        except (NotFoundError, FileNotFoundError):
            return
        except (BaseError, OSError) as error:
            raise _away() from error

    def _load(self, key: str) -> bytes:
        return bytes(obstore.get(self._store, key).bytes())


def upload_key(merchant_id: int, ticket_id: UUID) -> str:
    """Where an upload's content is kept."""
    return f"{merchant_id}/uploads/{ticket_id}"


def _away() -> Unavailable:
    return Unavailable("The file storage is away. Try again shortly.")
