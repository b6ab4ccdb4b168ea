"""What changed inside long texts, line by line, as a person reads before publishing. Pure."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

import msgspec

from dunwell.core.workflows.definition import Definition


def find_text_changes(old: Definition, new: Definition) -> dict[str, list[str]]:
    """Place -> lines that begin with -, + or a space, for each text that differs and was there.

    Places are named as `differences` names them. Texts of one line are quoted there.
    """
    before, after = dict(_list_texts(old)), dict(_list_texts(new))
    return {
        place: _compare_lines(before[place], text)
        for place, text in after.items()
        if place in before and before[place] != text and "\n" in before[place] + text
    }


def _list_texts(definition: Definition) -> Iterator[tuple[str, str]]:
    for name in ("templates", "snippets"):
        yield from _walk(name, msgspec.to_builtins(getattr(definition, name)))


def _walk(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _walk(f"{place}.{name}", member)
    elif isinstance(value, str):
        yield place, value


def _compare_lines(old: str, new: str) -> list[str]:
    lines = list(unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm=""))
    # The first two name files; a hunk's head, line numbers.
    return ["..." if line.startswith("@@") else line for line in lines[3:]]
