"""Describe the differences between two JSON values for a user's confirmation, and compute the
revision of a value, by which a form detects an edit conflict. Pure."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

# Longer values, mostly the texts of messages, are not quoted.
_MAX_QUOTED_LENGTH = 60


def compute_revision(value: object) -> str:
    """Return a hash of the value's content. The value None means that it does not exist."""
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]


def compare_values(name: str, old: Any, new: Any) -> Iterator[str]:
    """Yield one line for each difference. null and a missing key are equal."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from compare_values(f"{name}.{key}", old.get(key), new.get(key))
    elif old is None:
        yield f"{name} added{_quote(new)}"
    elif new is None:
        yield f"{name} removed"
    else:
        yield f"{name} changed{_quote(old, new)}"


def _quote(*values: Any) -> str:
    """Return the values as they are written in a file, if they are short."""
    if any(isinstance(value, Mapping) for value in values):
        return ""
    texts = [msgspec.json.encode(value).decode() for value in values]
    if any(len(text) > _MAX_QUOTED_LENGTH for text in texts):
        return ""
    return ": " + " -> ".join(texts)
