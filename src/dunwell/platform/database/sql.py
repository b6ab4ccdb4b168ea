"""Compose SQL statements from constants of this program. No other module composes SQL.

A slot is written `{name}` and is replaced when the statement is composed. Values from outside never
become part of a statement: they are its parameters $1, $2 and so on.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

# The largest number of values that one statement is given when there may be any number of them.
MAX_GROUP_SIZE = 1_000
_SLOT = re.compile(r"\{([a-z_]+)\}")
_PARAMETER = re.compile(r"\$(\d+)")
_T = TypeVar("_T")


def compose(statement: str, **slots: str) -> str:
    """Return the statement with every slot replaced. Raises ValueError if a slot has no value or a
    value has no slot."""
    wanted = set(_SLOT.findall(statement))
    if wanted != slots.keys():
        raise ValueError(
            f"These slots have no value, or these values no slot: {sorted(wanted ^ slots.keys())}"
        )
    return _SLOT.sub(lambda slot: slots[slot[1]], statement)


def load_statement(module_file: str, name: str, **slots: str) -> str:
    """Return the composed statement from the file `name` in the folder of the module, which passes
    its `__file__`."""
    return compose(Path(module_file).with_name(name).read_text("utf-8"), **slots)


def nest(statement: str, *names: str) -> str:
    """Return the statement as a subquery of another statement. A page can then load the rows of
    several modules in one round trip, while each statement stays in its module. `names` replace its
    $1, $2 and so on."""
    return f"({_PARAMETER.sub(lambda match: names[int(match[1]) - 1], statement)})"


def nest_row(statement: str, *names: str) -> str:
    """Return the subquery as an expression: its first row as a JSON object, NULL without a row."""
    rows = nest(statement, *names)
    return compose("(SELECT row_to_json(nested) FROM {rows} nested LIMIT 1)", rows=rows)


def nest_rows(statement: str, *names: str) -> str:
    """Return the subquery as an expression: all its rows, in their order, as a JSON array of
    objects."""
    rows = nest(statement, *names)
    return compose("(SELECT coalesce(json_agg(nested), '[]') FROM {rows} nested)", rows=rows)


def split_into_groups(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Yield the values in their order, in groups that are small enough for one statement."""
    for start in range(0, len(values), MAX_GROUP_SIZE):
        yield values[start : start + MAX_GROUP_SIZE]


class Conditions:
    """The conditions that narrow a list, and the values of all parameters of the statement. Each
    combination of conditions is a statement with its own plan."""

    def __init__(self, *values: object) -> None:
        """Pass the values of the parameters that the statement already has, in order."""
        self.values = [*values]
        self._tests: list[str] = []

    def add(self, test: str, *values: object) -> None:
        """Add a condition. Each `{}` in it is replaced by the parameter of one value, in order."""
        self.values += values
        first = len(self.values) - len(values) + 1
        self._tests.append(test.format(*(f"${first + place}" for place in range(len(values)))))

    def render(self) -> str:
        """Return the SQL that follows the conditions in the statement's own WHERE clause."""
        return "\n    ".join(f"AND {test}" for test in self._tests)
