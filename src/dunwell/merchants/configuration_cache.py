"""Parsed configurations of this process, by merchant and revision.

A configuration is some kilobytes of JSON that seldom change, needed by every request: a statement
names the revision that is kept here and gets the document back only when there is another one.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from dunwell.merchants.configuration import Configuration

_MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Kept:
    """A parsed configuration and its revision; 0, which no merchant has, when none is kept."""

    revision: int = 0
    configuration: Configuration | None = None


_NOTHING = Kept()
_kept: dict[int, Kept] = {}


def find_kept(merchant_id: int) -> Kept:
    return _kept.get(merchant_id, _NOTHING)


def read_configuration(
    merchant_id: int, revision: int, document: Any | None, kept: Kept
) -> Configuration:
    """The configuration a statement answered: its document, or `kept` when it sent none."""
    if document is None:
        assert kept.configuration is not None
        assert kept.revision == revision
        return kept.configuration
    configuration = msgspec.convert(document, Configuration)
    if len(_kept) >= _MOST_KEPT:
        _kept.pop(next(iter(_kept)))
    _kept[merchant_id] = Kept(revision, configuration)
    return configuration
