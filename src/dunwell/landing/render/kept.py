"""What was made once and is kept for the next time: so many at most, the oldest goes first."""

from collections.abc import Callable, Hashable
from typing import TypeVar

_Made = TypeVar("_Made")


class Kept(dict[Hashable, _Made]):
    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: Hashable, made: _Made) -> _Made:
        if len(self) >= self._most:
            del self[next(iter(self))]
        self[key] = made
        return made

    def find(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        found = self.get(key)
        return self.keep(key, make()) if found is None else found
