"""Finds the tests that check a duration on both sides of its limit."""

import ast
from functools import cache

from tests.support.durations import ROOT, name_of
from tests.support.durations_known import ELSEWHERE

# A table whose cases are named after the durations that they check -> the test that uses it.
_TABLES = {
    "EDGES": "test_each_change_happens_at_its_time_and_not_before",
    "LENGTHS": "test_each_documented_duration_matches_the_code",
}
_FILES = ("tests/domain/test_durations.py", "tests/usecases/test_durations.py")


def find_tests(name: str) -> list[str]:
    """Return the tests that check a duration, named as pytest names them."""
    own = [
        f"{file}::{test}[{name}]"
        for file in _FILES
        for table, test in _TABLES.items()
        if name in _list_cases(file, table)
    ]
    return [*ELSEWHERE.get(name, ()), *own]


@cache
def _list_cases(file: str, table: str) -> frozenset[str]:
    for statement in ast.parse((ROOT / file).read_text("utf-8")).body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or name_of(statement) != table:
            continue
        keys = statement.value.keys if isinstance(statement.value, ast.Dict) else ()
        return frozenset(str(key.value) for key in keys if isinstance(key, ast.Constant))
    return frozenset()
