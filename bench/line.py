"""One line of the table: what we reach, what the reference reaches, and what we aim for. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Values are one a round. `at_least` and `ratio_at_most` bound the ratio, `at_most` our own
    value."""

    work: str
    unit: str
    ours: Sequence[float]
    beside: str = ""
    reference: Sequence[float] = ()
    # Where it counts something else than we do.
    reference_unit: str = ""
    at_least: float | None = None
    ratio_at_most: float | None = None
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
        if self.ratio_at_most is not None:
            return f"≤ {self.ratio_at_most:.2f}"
        return "" if self.at_most is None else f"≤ {self.at_most:g} {self.unit}"

    @property
    def share(self) -> float | None:
        """How much of its goal is reached, 1 and above being all of it; none: it has no goal."""
        if self.at_least is not None and self.ratio is not None:
            return self.ratio / self.at_least
        if self.ratio_at_most is not None and self.ratio is not None:
            return self.ratio_at_most / self.ratio
        return None if self.at_most is None else self.at_most / self.value

    @property
    def verdict(self) -> str:
        """Whether the goal is met, or by how much of it it is missed."""
        if self.share is None:
            return ""
        return "met" if self.share >= 1 else f"missed by {1 - self.share:.0%}"
