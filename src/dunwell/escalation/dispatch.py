"""Sends planned contacts: lease, render, mark as handed over, call the channel, record the answer.

Each of these is a transaction of its own or none, and no network call is made while one is open
(CONTRACT 13). Merchants have slots of their own, so that one merchant's slow channel holds up
nobody else's. A contact that was marked and not answered is called again only on channels
that take one message for one id however often they are called; any other becomes UNKNOWN.
"""

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

import structlog

from dunwell.escalation.compose_contact import Letterhead, make_message
from dunwell.escalation.prepare_contacts import prepare_contacts
from dunwell.escalation.processes import find_process
from dunwell.escalation.reach import find_usable_channels
from dunwell.escalation.settle_contacts import AnsweredContact, Times, settle_contacts
from dunwell.escalation.settlement import Attempt, Unanswered, decide_settlement
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Merchant, Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.configuration import Channel
from dunwell.merchants.store import load_merchant
from dunwell.messages.channel import ChannelAdapter, Message, Outcome
from dunwell.messages.store import (
    Contact,
    Lease,
    find_merchants_with_contacts,
    mark_unknown,
    take_up,
)
from dunwell.workflows.definition import CommunicationStep
from dunwell.workflows.store import load_newest

SET_SIZE = 200
_LEASE = timedelta(seconds=120)
_CALL_SECONDS = 60
_CALL_AGAIN_AFTER = timedelta(seconds=30)
_CALLS_AT_ONCE = 50
_MERCHANT_SLOTS = 8

log = structlog.get_logger(__name__)
Answer = Outcome | Unanswered


class MessageDispatcher:
    def __init__(self, resources: Resources, adapters: Collection[ChannelAdapter]) -> None:
        self._resources = resources
        self._adapters = {(each.channel, each.name): each for each in adapters}
        self._running: dict[int, asyncio.Task[int]] = {}
        self._last_merchant_id = 0

    async def run_once(self) -> int:
        """Fill free merchant slots and wait for the first to finish; how many were settled."""
        free = _MERCHANT_SLOTS - len(self._running)
        if free:
            for merchant_id in await self._find_merchants(free):
                self._running[merchant_id] = asyncio.create_task(self.run_set(merchant_id))
                self._last_merchant_id = merchant_id
        if not self._running:
            return 0
        await asyncio.wait(self._running.values(), timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
        done = [merchant for merchant, task in self._running.items() if task.done()]
        return sum([self._running.pop(merchant).result() for merchant in done])

    async def close(self) -> None:
        """Let what is under way finish."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        self._running.clear()

    async def run_set(self, merchant_id: int) -> int:
        """Take up what was broken off, then send one set of planned contacts of one merchant."""
        async with self._resources.database.connection() as connection:
            merchant = await load_merchant(connection, merchant_id)
        if merchant is None:
            return 0
        return await self._repeat_broken_off(merchant) + await self._send_planned(merchant)

    async def _find_merchants(self, limit: int) -> list[int]:
        async with self._resources.database.connection() as connection:
            return await find_merchants_with_contacts(
                connection, self._now(), self._last_merchant_id, list(self._running), limit
            )

    async def _send_planned(self, merchant: Merchant) -> int:
        lease = self._new_lease()
        handed_over = await prepare_contacts(self._resources, merchant, lease, SET_SIZE)
        now = merchant.now(self._resources.clock)
        head = self._letterhead(merchant)
        calls = [
            (each.planned.contact, make_message(head, each.planned.contact, each.content, now))
            for each in handed_over
        ]
        return await self._call_and_settle(merchant, lease, calls)

    async def _repeat_broken_off(self, merchant: Merchant) -> int:
        lease, real_now = self._new_lease(), self._now()
        repeatable = [
            channel
            for channel in merchant.configuration.channels
            if (adapter := self._find_adapter(merchant, channel)) and adapter.is_repeatable
        ]
        async with self._resources.database.transaction() as tx:
            taken = await take_up(tx, merchant.merchant_id, real_now, lease, repeatable)
            unknown = await mark_unknown(tx, merchant.merchant_id, real_now, repeatable)
        for communication_id in unknown:
            log.error("send unknown", communication_id=str(communication_id))
        head = self._letterhead(merchant)
        calls = [
            (contact, make_message(head, contact, content, handed_over_at))
            for contact, content, handed_over_at in taken
        ]
        return await self._call_and_settle(merchant, lease, calls)

    async def _call_and_settle(
        self, merchant: Merchant, lease: Lease, calls: Sequence[tuple[Contact, Message]]
    ) -> int:
        if not calls:
            return 0
        slots = asyncio.Semaphore(_CALLS_AT_ONCE)
        answers = await asyncio.gather(
            *(self._call(merchant, message, slots) for _, message in calls)
        )
        return await self._settle(
            merchant, lease, [(contact, a) for (contact, _), a in zip(calls, answers, strict=True)]
        )

    async def _call(self, merchant: Merchant, message: Message, slots: asyncio.Semaphore) -> Answer:
        adapter = self._find_adapter(merchant, message.channel)
        if adapter is None:
            return Unanswered(is_repeatable=True)
        try:
            async with slots, asyncio.timeout(_CALL_SECONDS):
                return await adapter.send(message)
        except Exception as error:
            # Whatever it was: the message may have left, and that alone counts.
            log.exception(
                "send unanswered",
                communication_id=str(message.communication_id),
                error=type(error).__name__,
            )
            return Unanswered(adapter.is_repeatable)

    async def _settle(
        self, merchant: Merchant, lease: Lease, answers: Sequence[tuple[Contact, Answer]]
    ) -> int:
        resources = self._resources
        async with resources.database.transaction() as tx:
            now = merchant.now(resources.clock)
            work = Work(tx, merchant, SYSTEM, now, resources.ids)
            keys = {contact.process_key for contact, _ in answers}
            versions = await load_newest(tx, merchant.merchant_id, keys)
            settled = []
            for contact, answer in answers:
                version = versions[contact.process_key]
                process = find_process(version, merchant.configuration.timezone)
                step = process.steps[process.index_of(contact.step_id)]
                assert isinstance(step, CommunicationStep)
                attempt = _read_attempt(merchant, contact, step)
                settlement = decide_settlement(attempt, answer, now)
                settled.append(AnsweredContact(contact, settlement, process, version.version_id))
            times = Times(self._now(), self._now() + _CALL_AGAIN_AFTER)
            return await settle_contacts(work, settled, lease.lease_id, times)

    def _find_adapter(self, merchant: Merchant, channel: Channel) -> ChannelAdapter | None:
        setup = merchant.configuration.channels.get(channel)
        return self._adapters.get((channel, setup.adapter)) if setup else None

    def _letterhead(self, merchant: Merchant) -> Letterhead:
        return Letterhead(merchant, self._resources.settings.public_url, self._resources.keys)

    def _new_lease(self) -> Lease:
        now = self._now()
        return Lease(self._resources.ids.new(now), now + _LEASE)

    def _now(self) -> datetime:
        return self._resources.clock.now()


def _read_attempt(merchant: Merchant, contact: Contact, step: CommunicationStep) -> Attempt:
    usable = find_usable_channels(
        merchant.configuration.channels,
        email=contact.email,
        mobile_number=contact.mobile_number,
        address=contact.address,
    )
    return Attempt(step, contact.place, contact.tries + 1, usable)
