"""Statements put together from constants of ours; nowhere else is SQL composed.

A slot stands as `{name}` where a statement is filled in. What comes from outside never passes
through here: it goes to the database beside the statement, as $1, $2 and so on.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

# What one statement is given at most of what comes in any number.
MOST_IN_SET = 1_000
_SLOT = re.compile(r"\{([a-z_]+)\}")
_PARAMETER = re.compile(r"\$(\d+)")
_T = TypeVar("_T")


def compose(statement: str, **slots: str) -> str:
    """The statement with its slots filled, each of them wherever it stands. Raises ValueError for
    a slot that is not filled, and for a filling that has none."""
    wanted = set(_SLOT.findall(statement))
    if wanted != slots.keys():
        raise ValueError(f"These slots and fillings do not match: {sorted(wanted ^ slots.keys())}")
    return _SLOT.sub(lambda slot: slots[slot[1]], statement)


def load_statement(module_file: str, name: str, **slots: str) -> str:
    """Composed from the file of that name beside a module, which gives its `__file__`."""
    return compose(Path(module_file).with_name(name).read_text("utf-8"), **slots)


def nest(statement: str, *names: str) -> str:
    """Its rows as those of a table within another statement: what one page shows of several
    modules' tables takes one round trip, and each statement stays with its module. names: what
    stands for its $1, $2 and so on in the outer statement."""
    return f"({_PARAMETER.sub(lambda found: names[int(found[1]) - 1], statement)})"


def nest_row(statement: str, *names: str) -> str:
    """Its first row as a JSON object; NULL without one."""
    rows = nest(statement, *names)
    return compose("(SELECT row_to_json(nested) FROM {rows} nested LIMIT 1)", rows=rows)


def nest_rows(statement: str, *names: str) -> str:
    """All its rows, in its order, as a JSON array of objects."""
    rows = nest(statement, *names)
    return compose("(SELECT coalesce(json_agg(nested), '[]') FROM {rows} nested)", rows=rows)


def in_sets(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """All of them in their order, a statement's worth at a time."""
    for start in range(0, len(values), MOST_IN_SET):
        yield values[start : start + MOST_IN_SET]


class Conditions:
    """The tests that narrow a list, and the values of all its statement's parameters: each
    combination of tests is a statement with its own plan."""

    def __init__(self, *values: object) -> None:
        """values: of the parameters the statement has already, in order."""
        self.values = [*values]
        self._tests: list[str] = []

    def add(self, test: str, *values: object) -> None:
        """test: one of ours; each `{}` in it stands for the parameter of one value, in order."""
        self.values += values
        first = len(self.values) - len(values) + 1
        self._tests.append(test.format(*(f"${first + place}" for place in range(len(values)))))

    def render(self) -> str:
        """What stands behind the WHERE clause's own conditions."""
        return "\n    ".join(f"AND {test}" for test in self._tests)
