"""What differs between two JSON values, in words a person reads before saying yes; and the revision
of a value, by which a form notices that somebody else has changed it. Pure."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

# Longer values (texts of messages, mostly) are not quoted.
_LONGEST_QUOTED = 60


def compute_revision(value: object) -> str:
    """Different for each content, and the same for the same content; None: it does not exist."""
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]


def compare_values(name: str, old: Any, new: Any) -> Iterator[str]:
    """One line for each place where they differ; null and absent are the same."""
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
    """The values as they are written in a file, when they are short."""
    if any(isinstance(value, Mapping) for value in values):
        return ""
    texts = [msgspec.json.encode(value).decode() for value in values]
    if any(len(text) > _LONGEST_QUOTED for text in texts):
        return ""
    return ": " + " -> ".join(texts)
