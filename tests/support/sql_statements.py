"""Finds the SQL statements in the source code, so that a test of all statements misses none."""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import dunwell

_STATEMENT = re.compile(r"\s*(--.*\n\s*)*(SELECT|WITH|INSERT|UPDATE|DELETE)\b")


@cache
def list_statements() -> Mapping[str, str]:
    """Return the statements by module and name, for example "core.claims.store._LOAD". A statement
    in a dictionary ends with its key."""
    return dict(_find_statements())


@cache
def _list_names() -> Mapping[str, Sequence[str]]:
    names: dict[str, list[str]] = {}
    for name, text in list_statements().items():
        names.setdefault(text, []).append(name)
    return names


def list_names_of(statement: str) -> Sequence[str]:
    """Return the names of a statement; it has several if it is written more than once."""
    return _list_names()[statement]


def _find_statements() -> Iterator[tuple[str, str]]:
    for found in pkgutil.walk_packages(dunwell.__path__, "dunwell."):
        if found.name == "dunwell.__main__":
            continue
        module = found.name.removeprefix("dunwell.")
        for name, value in vars(importlib.import_module(found.name)).items():
            several = value if isinstance(value, dict) else {"": value}
            for key, text in several.items():
                if isinstance(text, str) and _STATEMENT.match(text):
                    yield f"{module}.{name}{key and f'[{key}]'}", text
