"""Hashes passwords with argon2id, in a thread and one at a time: it is the one slow thing that a
web process does, and is made to take time and memory.
"""

import asyncio
import base64
import unicodedata
from collections.abc import Callable
from typing import Protocol, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from dunwell.accounts.users.password_rules import PasswordFault, find_password_fault
from dunwell.platform.errors import Unavailable

# Of those that wait for their turn, about 0.1 s each.
MOST_WAITING = 100
_Answer = TypeVar("_Answer")
_SALT = base64.b64encode(bytes(16)).rstrip(b"=").decode()
_NOBODYS = base64.b64encode(bytes(32)).rstrip(b"=").decode()


class Hasher(Protocol):
    @property
    def memory_cost(self) -> int: ...

    @property
    def time_cost(self) -> int: ...

    @property
    def parallelism(self) -> int: ...

    def hash(self, password: str, /) -> str: ...

    def verify(self, stored: str, password: str, /) -> bool: ...

    def check_needs_rehash(self, stored: str, /) -> bool: ...


class Passwords:
    def __init__(self, hasher: Hasher | None = None) -> None:
        """hasher: argon2-cffi's own choice (RFC 9106, low memory) when none is given."""
        self._hasher: Hasher = hasher or PasswordHasher()
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    async def find_fault(self, password: str, *, name: str, email: str) -> PasswordFault | None:
        """What speaks against it as a password of this person."""

        def find() -> PasswordFault | None:
            return find_password_fault(_normalise(password), name=name, email=email)

        return await self._run(find)

    async def hash(self, password: str) -> str:
        return await self._run(lambda: self._hasher.hash(_normalise(password)))

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether it is the one that was hashed. Without one, it takes as long, and is not."""
        known = stored or self._nobodys_hash
        is_right = await self._run(lambda: self._verify(known, password))
        return is_right and stored is not None

    def is_outdated(self, stored: str) -> bool:
        """Whether it was hashed with other parameters than are usual now."""
        return self._hasher.check_needs_rehash(stored)

    @property
    def _nobodys_hash(self) -> str:
        """One that no password has, and that takes as long to compare with as any other."""
        hasher = self._hasher
        costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
        return f"$argon2id$v=19${costs}${_SALT}${_NOBODYS}"

    def _verify(self, known: str, password: str) -> bool:
        try:
            return self._hasher.verify(known, _normalise(password))
        except (Argon2Error, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], _Answer]) -> _Answer:
        if self._waiting >= MOST_WAITING:
            raise Unavailable("Too many people sign in at this moment. Try again shortly.")
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1


def _normalise(password: str) -> str:
    """The same letters however a keyboard composes them (RFC 8265)."""
    return unicodedata.normalize("NFC", password)
