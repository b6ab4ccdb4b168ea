"""Finds every duration in the source code.

A duration is a `timedelta` of fixed numbers, a number named after a unit of time, or an interval in
SQL. It is identified by its file and by the constant or function (with its class) that contains it.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dunwell"
JUST = timedelta(microseconds=1)
_UNIT = re.compile(r"SECONDS|MINUTES|HOURS|DAYS")
_INTERVAL = re.compile(r"interval '[1-9]")


@dataclass(frozen=True, slots=True)
class DurationBoundary:
    """What holds until `lasts` has passed, and what holds from then on. `look` returns what holds
    after a given time. `just` is the smallest difference in time that matters, for example one day.
    """

    lasts: timedelta
    look: Callable[[timedelta], object]
    before: object = True
    after: object = False
    just: timedelta = JUST

    def observe(self) -> tuple[object, object]:
        return self.look(self.lasts - self.just), self.look(self.lasts)


@dataclass(frozen=True, slots=True)
class FoundDuration:
    """A duration: the file that contains it, and the expressions that define it."""

    file: str
    expressions: Sequence[ast.expr]


@cache
def list_durations(source: Path = SOURCE) -> Mapping[str, FoundDuration]:
    found: dict[str, FoundDuration] = {}
    for path in sorted(source.rglob("*.py")):
        file = path.relative_to(source).as_posix()
        for name, expressions in _find_in(ast.parse(path.read_text("utf-8"))):
            if not expressions:
                continue
            before = found.get(f"{file} {name}", FoundDuration(file, ()))
            found[f"{file} {name}"] = FoundDuration(file, (*before.expressions, *expressions))
    return found


def _find_in(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, list[ast.expr]]]:
    """Find the durations in a tree. `owner` is the class or classes that contain it, followed by a
    dot."""
    for each in ast.iter_child_nodes(tree):
        if isinstance(each, ast.ClassDef):
            yield from _find_in(each, f"{owner}{each.name}.")
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = [call for call in ast.walk(each) if isinstance(call, ast.Call)]
            yield f"{owner}{each.name}", [call for call in calls if _is_fixed(call)]
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            yield f"{owner}{name_of(each)}", list(_list_said(each))
        else:
            yield from _find_in(each, owner)


def name_of(statement: ast.Assign | ast.AnnAssign) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    return target.id if isinstance(target, ast.Name) else ""


def _list_said(statement: ast.Assign | ast.AnnAssign) -> Iterator[ast.expr]:
    value = statement.value
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        if _UNIT.search(name_of(statement)):
            yield value
        return
    for each in ast.walk(value) if value is not None else ():
        is_fixed = isinstance(each, ast.Call) and _is_fixed(each)
        is_sql = isinstance(each, ast.Constant) and _INTERVAL.search(str(each.value))
        if isinstance(each, ast.expr) and (is_fixed or is_sql):
            yield each


def _is_fixed(call: ast.Call) -> bool:
    """Return whether the call is a timedelta of fixed numbers other than zero."""
    given = [*call.args, *(each.value for each in call.keywords)]
    numbers = [each.value for each in given if isinstance(each, ast.Constant)]
    is_timedelta = isinstance(call.func, ast.Name) and call.func.id == "timedelta"
    return is_timedelta and len(numbers) == len(given) and any(numbers)
