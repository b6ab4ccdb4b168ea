"""What forms about processes have in common: how values of a definition are written into fields
and read back. Fields are named by the place of the value in its part, joined by points. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dunwell.interfaces.web.amounts import read_amount, render_plain
from dunwell.platform.errors import Fault

# What a form holds, by name; what is ticked is a list.
Shown = dict[str, Any]


class Given(Protocol):
    """The fields that a form brought."""

    def text(self, name: str) -> str: ...

    def all(self, name: str) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Manner:
    """How amounts are written here."""

    currency: str
    language: str

    def write(self, cents: object) -> str:
        typed = str(cents)
        is_amount = typed.isascii() and typed.isdigit()
        return render_plain(int(typed), self.currency, self.language) if is_amount else typed


@dataclass(slots=True)
class Reader:
    """Reads a form; what cannot be read is left as it is typed, for the checks to tell."""

    given: Given
    manner: Manner
    faults: list[Fault] = field(default_factory=list)

    def text(self, name: str) -> str | None:
        return self.given.text(name) or None

    def number(self, name: str) -> Any:
        """A whole number; else what is typed; None: nothing."""
        typed = self.given.text(name)
        digits = typed.removeprefix("-")
        is_number = digits.isascii() and digits.isdecimal() and len(digits) <= 12
        return int(typed) if is_number else typed or None

    def cents(self, name: str) -> Any:
        """Digits of minor units; else what is typed; None: nothing."""
        typed = self.given.text(name)
        if not typed:
            return None
        amount = read_amount(typed, self.manner.currency, self.manner.language)
        return typed if amount is None else str(amount)

    def codes(self, name: str) -> list[str]:
        """Typed with blanks or commas between."""
        return self.given.text(name).replace(",", " ").split()

    def ticked(self, name: str, standing: object = None) -> list[str]:
        """In the order in which they stand, when they are the same."""
        ticked = self.given.all(name)
        is_same = isinstance(standing, list) and sorted(standing) == sorted(ticked)
        return [*standing] if is_same and isinstance(standing, list) else ticked


def read_several(codes: Sequence[str], standing: object) -> Any:
    """One as a text, several as a list; one that stands as a list stays one. None: none."""
    if not codes:
        return None
    if len(codes) == 1 and standing != [*codes]:
        return codes[0]
    return [*codes]


def write_several(value: object) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value or "")


def drop_nothing(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Without what is None; None: nothing is left."""
    left = {name: value for name, value in values.items() if value is not None}
    return left or None


def place_faults(
    faults: Sequence[Fault], root: str, names: Mapping[str, str]
) -> list[tuple[str, Fault]]:
    """Of the faults below `root` the field that each is told beside. names: place in the part ->
    field, the nearest place above counts."""
    placed = []
    for fault in faults:
        if fault.path != root and not fault.path.startswith(f"{root}/"):
            continue
        place = fault.path[len(root) + 1 :].replace("/", ".")
        while place and place not in names:
            place = place.rpartition(".")[0]
        placed.append((names.get(place, ""), fault))
    return placed
