"""Takes down that somebody asks for a new link, who says to know a claim's reference and the
address on file; `send_asked_links` finds out whether it is so.

Nobody learns from the page whether there is such a claim: when it answers, nobody has looked yet.
"""

from uuid import UUID

from dunwell.kit.db import Connection
from dunwell.landing.entering.store_asked_links import AskedLink, save_asked_link
from dunwell.landing.entering.tries import Locked
from dunwell.landing.entering.visitors import admit_visitor, count_visitors_request


async def ask_link(
    tx: Connection, asked_link_id: UUID, asked: AskedLink, visitor: bytes
) -> Locked | None:
    """None: it is taken down and counted. `visitor`: `digest_visitor`'s."""
    known = await admit_visitor(tx, visitor, asked.asked_at)
    if isinstance(known, Locked):
        return known
    await count_visitors_request(tx, visitor, asked.asked_at)
    await save_asked_link(tx, asked_link_id, asked)
    return None
