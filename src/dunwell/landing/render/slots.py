"""What pages are given that are rendered once and filled for each reader (`Pages`)."""

from collections.abc import Hashable, Sequence
from typing import TypeAlias

# What fills a slot; several of one name, by their place or by the fields' names.
Slot: TypeAlias = str | Sequence[str] | dict[str, str]
# A part of a page: what all read alike for whom it is the same, and the slots.
Described: TypeAlias = tuple[dict[str, Hashable], dict[str, Slot]]
