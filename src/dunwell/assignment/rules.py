"""A merchant's assignment rules as stored (CONTRACT 8): so far the default alone. Pure.

Workflows are named by their ids here, so that renaming one changes no rule.
"""

from uuid import UUID

import msgspec


class RuleSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is published; no default: a claim that no rule matches stays unassigned."""

    default: UUID | None = None
