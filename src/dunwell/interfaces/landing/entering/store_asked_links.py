"""The SQL of links asked for that nobody has looked at yet: rows in, values out, no rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection

_SAVE = """
INSERT INTO asked_links (asked_link_id, reference, contact, asked_at) VALUES ($1, $2, $3, $4)
"""
# Rides on asked_links_asked.
_FIND = "SELECT asked_link_id FROM asked_links ORDER BY asked_at LIMIT $1"
# By primary key.
_TAKE = "DELETE FROM asked_links WHERE asked_link_id = $1 RETURNING reference, contact, asked_at"


@dataclass(frozen=True, slots=True)
class AskedLink:
    """As it was typed."""

    reference: str
    contact: str
    # Real time.
    asked_at: datetime


async def save_asked_link(tx: Connection, asked_link_id: UUID, asked: AskedLink) -> None:
    await tx.execute(_SAVE, asked_link_id, asked.reference, asked.contact, asked.asked_at)


async def find_asked_links(tx: Connection, limit: int) -> Sequence[UUID]:
    """The oldest first."""
    return [row["asked_link_id"] for row in await tx.fetch(_FIND, limit)]


async def take_asked_link(tx: Connection, asked_link_id: UUID) -> AskedLink | None:
    """If it is still there, it is the caller's alone, and gone once the caller has committed."""
    row = await tx.fetchrow(_TAKE, asked_link_id)
    return None if row is None else AskedLink(**row)
