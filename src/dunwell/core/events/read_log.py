"""Reads what was sent to an endpoint and what it answered: the log page by page, one delivery with
all its tries, and whether anything was missed. Nothing is changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.endpoint import Endpoint
from dunwell.core.events.endpoint_health import EndpointHealth
from dunwell.core.events.proof import MOST_NUMBERED, Proof, prove
from dunwell.core.events.store_endpoints import load_endpoint
from dunwell.core.events.store_health import load_health, load_proof
from dunwell.core.events.store_log import (
    LogFilter,
    LoggedDelivery,
    Try,
    find_end,
    load_body,
    load_delivery,
    load_log,
    load_tries,
)
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound
from dunwell.platform.text.cursor import CursorForm

_CURSORS = CursorForm(b"dlv1", "16s")
_NEWEST = UUID(int=2**128 - 1)
NO_FILTER = LogFilter()


@dataclass(frozen=True, slots=True)
class KnownEndpoint:
    """An endpoint, and how it is doing."""

    endpoint: Endpoint
    health: EndpointHealth


@dataclass(frozen=True, slots=True)
class LogPage:
    """The newest first. No cursor when these are the last."""

    deliveries: Sequence[LoggedDelivery]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class DeliveryView:
    delivery: LoggedDelivery
    # To the letter.
    body: str
    # The oldest first.
    tries: Sequence[Try]


async def read_endpoint(work: Work, endpoint_id: UUID) -> KnownEndpoint:
    """Raises NotFound, also for one that was removed."""
    work.need(Right.CONFIGURE)
    async with snapshot(work.tx):
        endpoint = await load_endpoint(work.tx, work.merchant_id, endpoint_id)
        if endpoint is None:
            raise _absent()
        known = await load_health(work.tx, work.merchant_id, [endpoint_id])
    return KnownEndpoint(endpoint, known[endpoint_id])


async def find_deliveries(
    work: Work, endpoint_id: UUID, *, limit: int, cursor: str | None = None,
    wanted: LogFilter = NO_FILTER,
) -> LogPage:  # fmt: skip
    """By the order of their events. Raises ValidationError for a bad cursor."""
    work.need(Right.CONFIGURE)
    owner = (work.merchant_id,)
    before = _NEWEST if cursor is None else _read_cursor(owner, cursor)
    place = (work.tx, work.merchant_id, endpoint_id)
    async with snapshot(work.tx):
        found = await load_log(*place, before=before, wanted=wanted, limit=limit + 1)
        page = found[:limit]
        last = page[-1].event_id if len(found) > limit else None
        if last is None:
            last = await find_end(*place, before=before, wanted=wanted)
    if last is None:
        return LogPage(page, None)
    return LogPage(page, _CURSORS.write(owner, last.bytes))


async def read_delivery(work: Work, endpoint_id: UUID, event_id: UUID) -> DeliveryView:
    """Raises NotFound."""
    work.need(Right.CONFIGURE)
    async with snapshot(work.tx):
        delivery = await load_delivery(work.tx, work.merchant_id, endpoint_id, event_id)
        if delivery is None:
            raise NotFound("There is no such delivery.")
        body = await load_body(work.tx, work.merchant_id, event_id)
        tries = await load_tries(work.tx, work.merchant_id, endpoint_id, event_id)
    return DeliveryView(delivery, body, tries)


async def prove_deliveries(work: Work, endpoint_id: UUID, asked_from: int = 1) -> Proof:
    """asked_from: the number to begin with. Raises NotFound."""
    work.need(Right.CONFIGURE)
    if await load_endpoint(work.tx, work.merchant_id, endpoint_id) is None:
        raise _absent()
    first = max(1, min(asked_from, MOST_NUMBERED))
    return prove(*await load_proof(work.tx, work.merchant_id, endpoint_id, first))


def _read_cursor(owner: tuple[int], cursor: str) -> UUID:
    """A place is an event's, whichever endpoint's log it stands in."""
    (event_id,) = _CURSORS.read(owner, cursor)
    return UUID(bytes=event_id)


def _absent() -> NotFound:
    return NotFound("There is no such endpoint.")
