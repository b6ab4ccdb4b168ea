"""Which passwords are refused, and hashing with argon2id. Hashes are computed in a thread, one at a
time, because each takes time and memory by design."""

import asyncio
import base64
import math
import re
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from zxcvbn import zxcvbn
from zxcvbn.matching import L33T_TABLE

from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.users.user_work import UserWork
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

MIN_LENGTH = 12
MAX_LENGTH = 1000
# Enough against guessing online (10 attempts in 15 minutes, and a second factor) and against an
# attacker who has the hashes.
_MIN_GUESSES = 10**8
# zxcvbn gets only this many characters, because its time grows with the square of the length.
# Further characters only make a password stronger.
_MAX_SCORED_LENGTH = 32
# The time of zxcvbn also grows with the number of ways to read symbols as letters: "4" and "@" for
# "a", and "$" and "5" for "s", make four ways.
_MAX_LETTER_VARIANTS = 32
_LETTERS = str.maketrans(
    {symbol: letter for letter, symbols in L33T_TABLE.items() for symbol in symbols}
)
_MIN_WORD_LENGTH = 4
_WORD = re.compile(r"\w+")


class PasswordFault(StrEnum):
    TOO_SHORT = "TOO_SHORT"
    TOO_LONG = "TOO_LONG"
    PERSONAL = "PERSONAL"
    COMMON = "COMMON"


def find_password_fault(password: str, *, name: str, email: str) -> PasswordFault | None:
    """Return the fault, or None. Takes some milliseconds of processor time."""
    if len(password) < MIN_LENGTH:
        return PasswordFault.TOO_SHORT
    if len(password) > MAX_LENGTH:
        return PasswordFault.TOO_LONG
    words = [*_list_words(name), *_list_words(email.partition("@")[0]), "dunwell"]
    folded = password.casefold()
    if any(word in folded for word in words):
        return PasswordFault.PERSONAL
    guesses = zxcvbn(_limit_work(password), user_inputs=words)["guesses"]
    return PasswordFault.COMMON if guesses < _MIN_GUESSES else None


def _limit_work(password: str) -> str:
    """Return the part that zxcvbn can process in some milliseconds: the first characters, with
    symbols replaced by letters if there are too many ways to read the symbols."""
    beginning = password[:_MAX_SCORED_LENGTH]
    readings = math.prod(
        max(1, sum(symbol in beginning for symbol in symbols)) for symbols in L33T_TABLE.values()
    )
    return beginning.translate(_LETTERS) if readings > _MAX_LETTER_VARIANTS else beginning


def _list_words(text: str) -> list[str]:
    words = _WORD.findall(text.casefold().replace("_", " "))
    return [word for word in words if len(word) >= _MIN_WORD_LENGTH]


# Limit of waiting requests, about 0.1 s each.
MAX_WAITING = 100
_Result = TypeVar("_Result")
_PLACEHOLDER_SALT = base64.b64encode(bytes(16)).rstrip(b"=").decode()
_UNMATCHABLE_DIGEST = base64.b64encode(bytes(32)).rstrip(b"=").decode()


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
        """`hasher` is by default argon2-cffi's choice (RFC 9106, low memory)."""
        self._hasher: Hasher = hasher or PasswordHasher()
        self._one_at_a_time = asyncio.Semaphore(1)
        self._waiting = 0

    async def find_fault(self, password: str, *, name: str, email: str) -> PasswordFault | None:
        """Return the fault of this password for this user, or None."""

        def find() -> PasswordFault | None:
            return find_password_fault(_normalise(password), name=name, email=email)

        return await self._run(find)

    async def hash(self, password: str) -> str:
        return await self._run(lambda: self._hasher.hash(_normalise(password)))

    async def verify(self, stored: str | None, password: str) -> bool:
        """Return whether the password matches the hash. Without a hash, this takes the same time
        and returns False."""
        compared = stored or self._placeholder_hash
        is_right = await self._run(lambda: self._verify(compared, password))
        return is_right and stored is not None

    def is_outdated(self, stored: str) -> bool:
        """Return whether the hash was made with other parameters than the current ones."""
        return self._hasher.check_needs_rehash(stored)

    @property
    def _placeholder_hash(self) -> str:
        """A hash that matches no password and takes as long to verify as any other."""
        hasher = self._hasher
        costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
        return f"$argon2id$v=19${costs}${_PLACEHOLDER_SALT}${_UNMATCHABLE_DIGEST}"

    def _verify(self, compared: str, password: str) -> bool:
        try:
            return self._hasher.verify(compared, _normalise(password))
        except (Argon2Error, InvalidHashError):
            return False

    async def _run(self, compute: Callable[[], _Result]) -> _Result:
        if self._waiting >= MAX_WAITING:
            raise Unavailable("Too many users are signing in at the moment. Try again shortly.")
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                return await asyncio.to_thread(compute)
        finally:
            self._waiting -= 1


def _normalise(password: str) -> str:
    """Return the password in NFC, so that it does not depend on how the keyboard composes
    characters (RFC 8265)."""
    return unicodedata.normalize("NFC", password)


@dataclass(frozen=True, slots=True)
class SignInServices:
    """Shared services of the sign-in use cases; one per process."""

    resources: Resources
    passwords: Passwords

    def now(self) -> datetime:
        return self.resources.clock.now()

    @asynccontextmanager
    async def work(self, actor: Actor) -> AsyncIterator[UserWork]:
        """Open a transaction. Password hashing happens between two transactions so that it never
        holds a connection."""
        async with self.resources.database.transaction() as tx:
            yield UserWork.open(self.resources, tx, actor)
