"""Measure several candidates in turns, so that the machine's other work affects all of them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

_Reached = TypeVar("_Reached")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: the number of rounds, the seconds of timed runs, and the share of the
    rows."""

    rounds: int
    seconds: float
    share: float

    def rows(self, full: int) -> int:
        """Return the number of rows in whole thousands."""
        return max(1000, int(full * self.share) // 1000 * 1000)


FULL = Scale(rounds=3, seconds=4, share=1)
QUICK = Scale(rounds=1, seconds=2, share=0.2)


async def alternate(
    scale: Scale, contestants: Sequence[Callable[[], Awaitable[_Reached]]]
) -> list[list[_Reached]]:
    """Run each candidate once in each round, in the opposite order in every second round, and
    return the results."""
    reached: list[list[_Reached]] = [[] for _ in contestants]
    for number in range(scale.rounds):
        places = list(range(len(contestants)))
        for place in places if number % 2 == 0 else reversed(places):
            reached[place].append(await contestants[place]())
    return reached
