"""Sends notices, each by itself: one that hangs holds up no other, and a merchant's slow channel
fills no more than its own few places.

How one goes out is told in `sending.sender`; here is what a notice adds to it: it was rendered when
it was planned, so its lease and its mark are one, and those of all merchants are taken at once.
Instants are real time; quiet hours and holds are not asked about.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from uuid import UUID

import structlog

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.messages.contact_stops import ClaimKey, find_stopped_claims
from dunwell.contact.messages.letters.printer import (
    LetterPrinter,
)
from dunwell.contact.messages.suppression import load_reasons_of_many
from dunwell.contact.notices.handed_over import HandedOverNotice, find_line_of, record_notice
from dunwell.contact.notices.leased_store import take_back_notices
from dunwell.contact.notices.notice import heeds_contact_stop, heeds_suppression
from dunwell.contact.notices.settlement import Settlement, Standing, decide_no_call
from dunwell.contact.notices.store import (
    LeasedNotice,
    lease_notices,
)
from dunwell.contact.sending.adapters import Adapters, FindLine, find_no_line
from dunwell.contact.sending.batches.line import choose_layout
from dunwell.contact.sending.channel import (
    ChannelAdapter,
)
from dunwell.contact.sending.persist import persist_for_a_moment
from dunwell.contact.sending.sender import Begun, RunningSet, Sender
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.errors import Unavailable
from dunwell.platform.heartbeat import BEAT_SECONDS, begin_lease
from dunwell.platform.resources import Resources

_SLOTS = 64
# Of these as many for one channel of a merchant.
_CHANNEL_SLOTS = 8

log = structlog.get_logger(__name__)


class NoticeSender(Sender[HandedOverNotice]):
    def __init__(
        self, resources: Resources, adapters: Collection[ChannelAdapter],
        *, find_line: FindLine = find_no_line, beat_seconds: float = BEAT_SECONDS,
        printer: LetterPrinter | None = None,
    ) -> None:  # fmt: skip
        """printer: unless given, one of its own."""
        known = Adapters(adapters, find_line)
        # Its processes start with the first letter.
        self._printer = printer or LetterPrinter(1, fonts=resources.settings.fonts)
        queue = _NoticeQueue(resources, self._printer, known)
        super().__init__(resources, known, queue, slots=_SLOTS, beat_seconds=beat_seconds)

    async def close(self) -> None:
        """Letters are printed by processes of its own."""
        await super().close()
        await self._printer.close()


class _NoticeQueue:
    """A `sending.sender.Queue`."""

    def __init__(self, resources: Resources, printer: LetterPrinter, adapters: Adapters) -> None:
        self._resources = resources
        self._printer = printer
        self._adapters = adapters

    async def begin(
        self, running: Sequence[RunningSet[HandedOverNotice]], room: int
    ) -> Begun[HandedOverNotice]:
        """Those that are due, all marked as handed over; some are settled without a call."""
        lease, now = begin_lease(self._resources), self._resources.clock.now()
        busy = Counter(each.key.leased.by_channel for each in running)
        leased: Sequence[LeasedNotice] = ()
        try:
            async with self._resources.database.transaction() as tx:
                leased = await lease_notices(
                    tx, now, lease, busy, channel_limit=_CHANNEL_SLOTS, limit=room
                )
                merchants = await _load_merchants(tx, leased)
                uncalled = await self._find_uncalled(tx, merchants, leased)
                for each in leased:
                    if each.notice_id in uncalled:
                        settlement = uncalled[each.notice_id]
                        merchant = merchants[each.merchant_id]
                        line = find_line_of(merchant, each) if each.was_handed_over else None
                        await record_notice(
                            tx, each, lease.lease_id, settlement, line=line, now=now
                        )
        except (Unavailable, asyncio.CancelledError):
            # Whether it was committed is not known; that no channel was called for it is.
            await persist_for_a_moment(lambda: self._take_back(leased, lease))
            raise
        handed_over = [
            HandedOverNotice(
                self._resources,
                self._printer,
                merchant=merchants[each.merchant_id],
                leased=each,
                lease=lease,
                layout=choose_layout(self._adapters.find(merchants[each.merchant_id], "LETTER")),
            )
            for each in leased
            if each.notice_id not in uncalled
        ]
        return Begun(handed_over, len(uncalled))

    async def _take_back(self, leased: Sequence[LeasedNotice], lease: Lease) -> None:
        async with self._resources.database.transaction() as tx:
            now = self._resources.clock.now()
            await take_back_notices(tx, leased, lease.lease_id, now)

    async def hand_over(self, key: HandedOverNotice) -> AsyncIterator[HandedOverNotice]:
        yield key

    async def _find_uncalled(
        self, tx: Connection, merchants: Mapping[int, Merchant], leased: Sequence[LeasedNotice]
    ) -> dict[UUID, Settlement]:
        """Those whose channel is not called, with what becomes of them."""
        found = {}
        reasons = await load_reasons_of_many(
            tx, self._resources.keys, [_find_address(each) for each in leased]
        )
        stopped = await find_stopped_claims(
            tx,
            self._resources.keys,
            {_find_claim(each) for each in leased if heeds_contact_stop(each.notice.kind)},
        )
        for each in leased:
            # It may have been suppressed since it was planned, or its debtor may have died.
            reason = reasons.get(_find_address(each))
            is_stopped = heeds_contact_stop(each.notice.kind) and _find_claim(each) in stopped
            channel = each.notice.addressee.channel
            adapter = self._adapters.find(merchants[each.merchant_id], channel)
            standing = Standing(
                was_handed_over=each.was_handed_over,
                is_suppressed=is_stopped
                or (reason is not None and heeds_suppression(each.notice.kind, reason)),
                is_repeatable=adapter.is_repeatable if adapter else None,
                expires_at=each.expires_at,
            )
            settlement = decide_no_call(standing, self._resources.clock.now())
            if settlement is not None:
                found[each.notice_id] = settlement
        return found


async def _load_merchants(tx: Connection, leased: Sequence[LeasedNotice]) -> dict[int, Merchant]:
    found = {}
    for merchant_id in {each.merchant_id for each in leased}:
        merchant = await load_merchant(tx, merchant_id)
        assert merchant is not None
        found[merchant_id] = merchant
    return found


def _find_claim(each: LeasedNotice) -> ClaimKey:
    return each.merchant_id, each.notice.addressee.claim_id


def _find_address(each: LeasedNotice) -> tuple[int, Channel, str]:
    """As suppressions are asked about it."""
    addressee = each.notice.addressee
    return each.merchant_id, addressee.channel, addressee.recipient
