"""Find sets of amounts with an exact sum: several claims that one payment covers, or several
payments that cover one claim. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

MAX_SETS = 10
_MAX_AMOUNTS = 40
_MAX_PARTS = 12
_MAX_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class CoveringSets:
    """Sets of ids whose amounts add up to the sum, the smallest sets first."""

    sets: tuple[frozenset[int], ...]
    # False if the search was broken off, so that there may be more sets.
    is_complete: bool

    @property
    def is_unique(self) -> bool:
        return self.is_complete and len(self.sets) == 1


def find_covering_sets(total: int, amounts: Mapping[int, int], tolerance: int = 0) -> CoveringSets:
    """Return the sets of at least two amounts (id -> cents, all positive) whose sum differs from
    `total` by at most `tolerance`, both in cents. The search is bounded: see `is_complete`."""
    usable = sorted(
        (
            (cents, amount_id)
            for amount_id, cents in amounts.items()
            if 0 < cents <= total + tolerance
        ),
        reverse=True,
    )
    search = _Search(tuple(usable[:_MAX_AMOUNTS]), total, tolerance)
    search.is_complete = len(usable) <= _MAX_AMOUNTS
    search.run()
    sets = sorted(search.found, key=lambda each: (len(each), sorted(each)))
    return CoveringSets(tuple(sets), search.is_complete)


class _Search:
    """A depth-first search over the amounts, largest first."""

    def __init__(self, amounts: tuple[tuple[int, int], ...], total: int, tolerance: int) -> None:
        self._amounts = amounts
        self._total, self._tolerance = total, tolerance
        # The sum of the amounts from each index on. A branch that cannot reach the total any more
        # is cut off.
        self._remaining = [0] * (len(amounts) + 1)
        for index in range(len(amounts) - 1, -1, -1):
            self._remaining[index] = self._remaining[index + 1] + amounts[index][0]
        self._steps = 0
        self.found: list[frozenset[int]] = []
        self.is_complete = True

    def run(self) -> None:
        self._extend(0, 0, ())

    def _extend(self, first: int, chosen_cents: int, chosen: tuple[int, ...]) -> None:
        if abs(self._total - chosen_cents) <= self._tolerance and len(chosen) > 1:
            self.found.append(frozenset(chosen))
        for index in range(first, len(self._amounts)):
            self._steps += 1
            if self._steps > _MAX_STEPS or len(self.found) >= MAX_SETS:
                self.is_complete = False
                return
            if chosen_cents + self._remaining[index] < self._total - self._tolerance:
                return
            cents, amount_id = self._amounts[index]
            if chosen_cents + cents > self._total + self._tolerance:
                continue
            if len(chosen) == _MAX_PARTS:
                self.is_complete = False
                return
            self._extend(index + 1, chosen_cents + cents, (*chosen, amount_id))
