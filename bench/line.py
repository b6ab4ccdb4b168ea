"""One line of the table: what we reach, what the reference reaches, and what we aim for. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Values are one a round. `at_least` bounds the ratio, `at_most` our own value."""

    work: str
    unit: str
    ours: Sequence[float]
    beside: str = ""
    reference: Sequence[float] = ()
    # Where it counts something else than we do.
    reference_unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def value(self) -> float:
        return median(self.ours)

    @property
    def ratio(self) -> float | None:
        return self.value / median(self.reference) if self.reference else None

    @property
    def goal(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:.2f}"
        return "" if self.at_most is None else f"≤ {self.at_most:g} {self.unit}"

    @property
    def verdict(self) -> str:
        """Whether the goal is met, or by how much of it it is missed."""
        if self.at_least is not None and self.ratio is not None:
            return _judge(self.ratio / self.at_least)
        return "" if self.at_most is None else _judge(self.at_most / self.value)


def _judge(share: float) -> str:
    return "met" if share >= 1 else f"missed by {1 - share:.0%}"
