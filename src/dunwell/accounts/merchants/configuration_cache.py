"""Parsed configurations of this process, by merchant and revision.

A configuration is some kilobytes of JSON that seldom change, needed by every request: a statement
names the revision that is kept here and gets the document back only when there is another one.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import Configuration

_MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class CachedConfiguration:
    """A parsed configuration and its revision; 0, which no merchant has, when none is cached."""

    revision: int = 0
    configuration: Configuration | None = None


_NOTHING = CachedConfiguration()
_cached: dict[int, CachedConfiguration] = {}


def find_cached(merchant_id: int) -> CachedConfiguration:
    return _cached.get(merchant_id, _NOTHING)


def read_configuration(
    merchant_id: int, revision: int, document: Any | None, cached: CachedConfiguration
) -> Configuration:
    """The configuration a statement answered: its document, or `cached` when it sent none."""
    if document is None:
        assert cached.configuration is not None
        assert cached.revision == revision
        return cached.configuration
    configuration = msgspec.convert(document, Configuration)
    if len(_cached) >= _MOST_KEPT:
        _cached.pop(next(iter(_cached)))
    _cached[merchant_id] = CachedConfiguration(revision, configuration)
    return configuration
