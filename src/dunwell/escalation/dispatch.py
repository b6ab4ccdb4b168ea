"""Sends planned contacts: lease, render, mark as handed over, call the channel, record the answer.

Each of these is a transaction of its own or none, and no network call is made while one is open
(CONTRACT 13). Merchants have slots of their own, so that one merchant's slow channel holds up
nobody else's. A contact that was marked and not answered is called again only on channels
that take one message for one id however often they are called; any other becomes UNKNOWN.
"""

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.errors import Unavailable
from dunwell.escalation.call_channels import Call, ChannelCaller
from dunwell.escalation.prepare_contacts import prepare_contacts
from dunwell.escalation.processes import find_process
from dunwell.escalation.schedule import NOTHING_TRIED, Tried
from dunwell.escalation.sending_hours import find_quiet_channels
from dunwell.escalation.settle_contacts import AnsweredContact, settle_contacts
from dunwell.escalation.settlement import Answer, Attempt, decide_settlement
from dunwell.escalation.tried import load_tried
from dunwell.escalation.usable_channels import load_usable_channels
from dunwell.escalation.workshop import Workshop
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Merchant, Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.configuration import Channel
from dunwell.merchants.store import load_merchant
from dunwell.messages.channel import Accepted, ChannelAdapter, Unanswered
from dunwell.messages.store import (
    Contact,
    Lease,
    find_merchants_with_contacts,
    keep_lease,
    mark_unknown,
    take_up,
)
from dunwell.workflows.store import hold_workflows, load_newest

SET_SIZE = 200
_LEASE = timedelta(seconds=120)
_KEEP_SECONDS = 30
# Together much less than is left of a lease.
_SETTLE_PAUSES = (0.1, 1.0, 5.0)
_MERCHANT_SLOTS = 8

log = structlog.get_logger(__name__)


class MessageDispatcher:
    """Close it at the end: letters are printed by processes of its own."""

    def __init__(self, resources: Resources, adapters: Collection[ChannelAdapter]) -> None:
        self._resources = resources
        self._workshop = Workshop.open(resources)
        self._caller = ChannelCaller(self._workshop, adapters)
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

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way from an earlier round."""
        return not self._running

    async def close(self) -> None:
        """Let what is under way finish."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        self._running.clear()
        await self._workshop.close()

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
        prepared = await prepare_contacts(self._workshop, merchant, lease, SET_SIZE)
        now = merchant.now(self._resources.clock)
        calls = [
            Call(each.planned.contact, each.content, now, each.pdf) for each in prepared.handed_over
        ]
        answers = await self._call(merchant, lease, calls)
        return await self._settle(merchant, lease, [*prepared.refused, *answers])

    async def _repeat_broken_off(self, merchant: Merchant) -> int:
        lease, real_now = self._new_lease(), self._now()
        repeatable = self._caller.list_repeatable(merchant)
        # It may not have left yet, so quiet hours keep it back too. A sandbox's clock stands still
        # while anything is under way: its quiet hours would not end.
        quiet = find_quiet_channels(merchant.configuration, real_now)
        wanted = [each for each in repeatable if merchant.is_sandbox or each not in quiet]
        async with self._resources.database.transaction() as tx:
            taken = await take_up(tx, merchant.merchant_id, real_now, lease, wanted, limit=SET_SIZE)
            unknown = await mark_unknown(tx, merchant.merchant_id, real_now, repeatable)
            lost = await self._find_lost(tx, merchant, [contact for contact, _, _ in taken])
        for communication_id in [*unknown, *(each.communication_id for each in lost)]:
            log.error("send unknown", communication_id=str(communication_id))
        calls = [
            Call(contact, content, at) for contact, content, at in taken if contact not in lost
        ]
        answers: list[tuple[Contact, Answer]] = [
            (contact, Unanswered(is_repeatable=False)) for contact in lost
        ]
        answers += await self._call(merchant, lease, calls)
        return await self._settle(merchant, lease, answers)

    async def _find_lost(
        self, tx: Connection, merchant: Merchant, contacts: Sequence[Contact]
    ) -> list[Contact]:
        """What may have left and must not leave again: the address was suppressed since, say."""
        by_id = {contact.communication_id: contact for contact in contacts}
        if not by_id:
            return []
        usable = await load_usable_channels(tx, self._resources.keys, merchant, by_id)
        return [contact for key, contact in by_id.items() if contact.channel not in usable[key]]

    async def _call(
        self, merchant: Merchant, lease: Lease, calls: Sequence[Call]
    ) -> list[tuple[Contact, Answer]]:
        """Call the channels, keeping the lease for as long as that takes."""
        calling = asyncio.ensure_future(self._caller.call(merchant, calls))
        while not (await asyncio.wait([calling], timeout=_KEEP_SECONDS))[0]:
            kept = Lease(lease.lease_id, self._now() + _LEASE)
            with contextlib.suppress(Unavailable):  # the next beat comes before the lease ends
                async with self._resources.database.connection() as connection:
                    await keep_lease(connection, merchant.merchant_id, kept)
        return calling.result()

    async def _settle(
        self, merchant: Merchant, lease: Lease, answers: Sequence[tuple[Contact, Answer]]
    ) -> int:
        """Once more when something was in the way: an answer that is lost leaves a doubt behind."""
        if not answers:
            return 0
        for pause in _SETTLE_PAUSES:
            try:
                return await self._settle_once(merchant, lease, answers)
            except Unavailable:
                log.warning("cannot settle yet", merchant_id=merchant.merchant_id)
                await asyncio.sleep(pause)
        return await self._settle_once(merchant, lease, answers)

    async def _settle_once(
        self, merchant: Merchant, lease: Lease, answers: Sequence[tuple[Contact, Answer]]
    ) -> int:
        resources = self._resources
        async with resources.database.transaction() as tx:
            work = Work.open(resources, tx, merchant, SYSTEM)
            keys = {contact.process_key for contact, _ in answers}
            if not merchant.switched_to_workflows:
                # A scenario is edited in place: not between here and where its claims go on.
                await hold_workflows(tx, merchant.merchant_id, {key for key, _ in keys})
            versions = await load_newest(tx, merchant.merchant_id, keys)
            refused = [c for c, answer in answers if not isinstance(answer, Accepted)]
            attempts = await self._load_attempts(tx, merchant, refused)
            settled = []
            for contact, answer in answers:
                version = versions[contact.process_key]
                process = find_process(version, merchant.configuration.timezone)
                step = process.find_contact_step(contact.step_id)
                usable, tried = attempts.get(contact.communication_id, (frozenset(), NOTHING_TRIED))
                attempt = Attempt(step, contact.tries + 1, usable, tried)
                settlement = decide_settlement(attempt, answer, work.now)
                settled.append(AnsweredContact(contact, settlement, process, version.version_id))
            return await settle_contacts(work, settled, lease.lease_id)

    async def _load_attempts(
        self, tx: Connection, merchant: Merchant, refused: Sequence[Contact]
    ) -> dict[UUID, tuple[frozenset[Channel], Tried]]:
        """What else there is for contacts that were not accepted, and what was tried."""
        if not refused:
            return {}
        contacts = {contact.communication_id: contact for contact in refused}
        usable = await load_usable_channels(tx, self._resources.keys, merchant, contacts)
        tried = await load_tried(tx, merchant.merchant_id, contacts)
        return {key: (usable[key], tried.get(key, NOTHING_TRIED)) for key in contacts}

    def _new_lease(self) -> Lease:
        now = self._now()
        return Lease(self._resources.ids.new(now), now + _LEASE)

    def _now(self) -> datetime:
        return self._resources.clock.now()
