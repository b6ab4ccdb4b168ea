"""One line of the table: the service's figure, the reference's figure, and the goal. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The values of all rounds. `at_least` and `ratio_at_most` limit the ratio, `at_most` the
    service's own value."""

    work: str
    unit: str
    ours: Sequence[float]
    beside: str = ""
    reference: Sequence[float] = ()
    # Set if the reference counts something else than the service.
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
        """Return how much of its goal the figure reaches (1 or more is all of it), None without a
        goal."""
        if self.at_least is not None and self.ratio is not None:
            return self.ratio / self.at_least
        if self.ratio_at_most is not None and self.ratio is not None:
            return self.ratio_at_most / self.ratio
        return None if self.at_most is None else self.at_most / self.value

    @property
    def verdict(self) -> str:
        """Return whether the goal is reached, or by how much it is missed."""
        if self.share is None:
            return ""
        return "met" if self.share >= 1 else f"missed by {1 - self.share:.0%}"
