"""Sends notices: lease and mark as handed over, call the channel, record the answer.

The first and the last are a transaction each, and no network call is made while one is open. Every
notice goes its own way: one that hangs holds up no other, and a merchant's slow channel fills no
more than its own few places. Instants are real time; quiet hours and holds are not asked about.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.errors import Unavailable
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Merchant
from dunwell.merchants.configuration import Channel
from dunwell.merchants.store import load_merchant
from dunwell.messages.calling import call_channel
from dunwell.messages.channel import ChannelAdapter, Message
from dunwell.messages.creditors import find_creditor, find_sender
from dunwell.messages.suppression import load_reasons_of_many
from dunwell.notices.figures import count_unsent
from dunwell.notices.notice import heeds_suppression
from dunwell.notices.secrets import unmask
from dunwell.notices.settlement import (
    Settlement,
    Standing,
    decide_no_call,
    decide_settlement,
)
from dunwell.notices.store import LeasedNotice, NoticeLease, lease_notices, settle_notice

# Longer than a call and its settlement take.
_LEASE = timedelta(seconds=90)
_SETTLE_PAUSES = (0.1, 1.0, 5.0)
_SLOTS = 64
_LANE_SLOTS = 8
_ROUND_SECONDS = 0.2

log = structlog.get_logger(__name__)


class NoticeSender:
    """Close it at the end."""

    def __init__(self, resources: Resources, adapters: Collection[ChannelAdapter]) -> None:
        self._resources = resources
        self._adapters = {(each.channel, each.name): each for each in adapters}
        self._running: dict[asyncio.Task[int], LeasedNotice] = {}

    async def run_once(self) -> int:
        """Fill free slots and wait a moment for the first to finish; how many were settled."""
        settled = await self._take_due()
        if not self._running:
            return settled
        done, _ = await asyncio.wait(
            self._running, timeout=_ROUND_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            del self._running[task]
        return settled + sum(task.result() for task in done)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way from an earlier round."""
        return not self._running

    async def close(self) -> None:
        """Let what is under way finish."""
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()

    async def _take_due(self) -> int:
        """Begin with those that are due; how many were settled without a call."""
        room = _SLOTS - len(self._running)
        if not room:
            return 0
        now = self._now()
        lease = NoticeLease(self._resources.ids.new(now), now + _LEASE)
        busy = Counter(each.lane for each in self._running.values())
        async with self._resources.database.transaction() as tx:
            leased = await lease_notices(tx, now, lease, busy, lane_limit=_LANE_SLOTS, limit=room)
            merchants = await _load_merchants(tx, leased)
            uncalled = await self._find_uncalled(tx, merchants, leased)
            for each in leased:
                if each.notice_id in uncalled:
                    await self._record(tx, each, lease.lease_id, uncalled[each.notice_id])
        for each in leased:
            if each.notice_id not in uncalled:
                sending = self._send(merchants[each.merchant_id], each, lease.lease_id)
                self._running[asyncio.create_task(sending)] = each
        return len(uncalled)

    async def _find_uncalled(
        self, tx: Connection, merchants: Mapping[int, Merchant], leased: Sequence[LeasedNotice]
    ) -> dict[UUID, Settlement]:
        """Those whose channel is not called, with what becomes of them."""
        found = {}
        reasons = await load_reasons_of_many(
            tx, self._resources.keys, [_find_address(each) for each in leased]
        )
        for each in leased:
            # It may have been suppressed since it was planned.
            reason = reasons.get(_find_address(each))
            adapter = self._find_adapter(merchants[each.merchant_id], each)
            standing = Standing(
                was_handed_over=each.was_handed_over,
                is_suppressed=reason is not None and heeds_suppression(each.notice.kind, reason),
                is_repeatable=adapter.is_repeatable if adapter else None,
                expires_at=each.expires_at,
            )
            settlement = decide_no_call(standing, self._now())
            if settlement is not None:
                found[each.notice_id] = settlement
        return found

    async def _send(self, merchant: Merchant, each: LeasedNotice, lease_id: UUID) -> int:
        adapter = self._find_adapter(merchant, each)
        assert adapter is not None
        answer = await call_channel(adapter, self._make_message(merchant, each))
        settlement = decide_settlement(
            answer, tries=each.tries, expires_at=each.expires_at, now=self._now()
        )
        # Once more when something is in the way: an answer that is lost leaves a doubt behind.
        for pause in _SETTLE_PAUSES:
            try:
                return await self._settle(each, lease_id, settlement)
            except Unavailable:
                log.warning("cannot settle yet", merchant_id=each.merchant_id)
                await asyncio.sleep(pause)
        return await self._settle(each, lease_id, settlement)

    async def _settle(self, each: LeasedNotice, lease_id: UUID, settlement: Settlement) -> int:
        async with self._resources.database.transaction() as tx:
            return await self._record(tx, each, lease_id, settlement)

    async def _record(
        self, tx: Connection, each: LeasedNotice, lease_id: UUID, settlement: Settlement
    ) -> int:
        is_saved = await settle_notice(tx, each, lease_id, settlement, self._now())
        state, notice = settlement.state, each.notice
        if is_saved and state in ("FAILED", "UNKNOWN"):
            count_unsent(notice.kind, notice.addressee.channel, state)
            log.warning(
                "notice not sent",
                notice_id=str(each.notice_id),
                merchant_id=each.merchant_id,
                state=state,
            )
        return int(is_saved)

    def _make_message(self, merchant: Merchant, each: LeasedNotice) -> Message:
        creditor, notice = find_creditor(merchant), each.notice
        addressee = notice.addressee

        def show(text: str) -> str:
            return unmask(self._resources.keys, notice.kind, each.notice_id, text)

        return Message(
            communication_id=each.notice_id,
            merchant_id=merchant.merchant_id,
            claim_id=addressee.claim_id,
            channel=addressee.channel,
            recipient=addressee.recipient,
            sender=find_sender(merchant, addressee.channel, creditor),
            sender_name=creditor.legal_name,
            reply_to=creditor.email if addressee.channel == "EMAIL" else None,
            language=addressee.language,
            subject=show(notice.subject) if notice.subject else None,
            body_text=show(notice.body_text),
            body_html=show(notice.body_html) if notice.body_html else None,
            created_at=each.dated_at,
            is_sandbox=merchant.is_sandbox,
        )

    def _find_adapter(self, merchant: Merchant, each: LeasedNotice) -> ChannelAdapter | None:
        channel = each.notice.addressee.channel
        setup = merchant.configuration.channels.get(channel)
        return self._adapters.get((channel, setup.adapter)) if setup else None

    def _now(self) -> datetime:
        return self._resources.clock.now()


async def _load_merchants(tx: Connection, leased: Sequence[LeasedNotice]) -> dict[int, Merchant]:
    found = {}
    for merchant_id in {each.merchant_id for each in leased}:
        merchant = await load_merchant(tx, merchant_id)
        assert merchant is not None
        found[merchant_id] = merchant
    return found


def _find_address(each: LeasedNotice) -> tuple[int, Channel, str]:
    """As suppressions are asked about it."""
    addressee = each.notice.addressee
    return each.merchant_id, addressee.channel, addressee.recipient
