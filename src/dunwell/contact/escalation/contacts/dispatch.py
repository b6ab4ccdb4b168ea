"""Send planned contacts in sets.

A set holds contacts of one channel of one merchant: first the interrupted ones, then those that are
due. Each merchant's channel has one delivery provider, so a slow provider delays only its own sets.

`contact.sending.sender` runs the sets. This module adds what is special about contacts: they are
rendered between lease and hand-over from the facts of that moment, and an interrupted contact is
not repeated if the debtor must no longer be contacted.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

import structlog

from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.escalation.contacts.compose_contact import MessageSource
from dunwell.contact.escalation.contacts.handed_over import (
    ContactCall,
    FileMemory,
    HandedOverContacts,
    LeasedCalls,
)
from dunwell.contact.escalation.contacts.outcomes.settlement import ContactAnswer
from dunwell.contact.escalation.contacts.prepare_contacts import (
    SendRate,
    SetLimits,
    prepare_contacts,
)
from dunwell.contact.escalation.contacts.sending_hours import list_quiet_channels
from dunwell.contact.escalation.contacts.store import (
    MerchantChannel,
    list_channels_with_contacts,
    mark_unknown,
    resume_interrupted,
)
from dunwell.contact.escalation.usable_channels import load_usable_channels
from dunwell.contact.messages.contact import LeasedContact
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.suppression import list_stopped_claims
from dunwell.contact.sending.adapters import Adapters, FindProvider, find_no_provider
from dunwell.contact.sending.channel import ChannelAdapter, Unanswered
from dunwell.contact.sending.sender import RunningSet, Sender, StartedSets
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.heartbeat import HEARTBEAT_SECONDS, start_lease
from dunwell.platform.resources import Resources

SET_SIZE = 200
# Sets that one worker prepares or sends at the same time. A set that only waits for answers uses no
# slot.
_SLOTS = 8
# How long one merchant channel may send small sets one after the other before others get a turn.
_MAX_TURN_SECONDS = 1.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _ContactSetKey:
    """The merchant and the channel of a set of contacts."""

    merchant_id: int
    channel: Channel
    # The number of messages of earlier sets that the channel has not answered yet.
    unanswered: int = 0

    @property
    def merchant_channel(self) -> MerchantChannel:
        return self.merchant_id, self.channel


class MessageDispatcher(Sender[_ContactSetKey]):
    """Send planned contacts. Starts its own letter printer unless `printer` is given."""

    def __init__(
        self, resources: Resources, adapters: Collection[ChannelAdapter],
        *, find_provider: FindProvider = find_no_provider,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        printer: LetterPrinter | None = None,
    ) -> None:  # fmt: skip
        self._letters = LetterFiles.open(resources, printer)
        channel_adapters = Adapters(adapters, find_provider)
        queue = _ContactQueue(
            resources, self._letters, channel_adapters, heartbeat_seconds=heartbeat_seconds
        )
        super().__init__(
            resources, channel_adapters, queue, slots=_SLOTS, heartbeat_seconds=heartbeat_seconds
        )

    async def close(self) -> None:
        """Let running sets finish, and end the processes that print letters."""
        await super().close()
        await self._letters.close()

    async def run_merchant(self, merchant_id: int, channels: Collection[Channel] = CHANNELS) -> int:
        """Send one set of each of these channels of a merchant and return the number of recorded
        contacts."""
        sets = (_ContactSetKey(merchant_id, channel) for channel in channels)
        return sum(await asyncio.gather(*map(self.run_set, sets)))


class _ContactQueue:
    """The queue of due contacts; implements `contact.sending.sender.SendQueue`."""

    def __init__(
        self, resources: Resources, letters: LetterFiles, adapters: Adapters,
        *, heartbeat_seconds: float,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._letters = letters
        self._adapters = adapters
        self._heartbeat_seconds = heartbeat_seconds
        self._memory = FileMemory()
        self._last_served: MerchantChannel = (0, CHANNELS[0])
        # The maximum number of unanswered messages, for each channel that has running sets.
        self._max_unanswered: dict[MerchantChannel, int] = {}

    async def start_sets(
        self, running: Sequence[RunningSet[_ContactSetKey]], free_slots: int
    ) -> StartedSets[_ContactSetKey]:
        """Start sets for merchant channels in rotation. A channel whose sets all linger gets
        another set if its provider accepts more messages."""
        unanswered = Counter[MerchantChannel]()
        for each in running:
            unanswered[each.key.merchant_channel] += each.unanswered
        self._max_unanswered = {
            key: limit for key, limit in self._max_unanswered.items() if key in unanswered
        }
        busy = {each.key.merchant_channel for each in running if not each.lingers}
        busy |= {key for key, limit in self._max_unanswered.items() if unanswered[key] >= limit}
        async with self._resources.database.connection() as connection:
            due_channels = await list_channels_with_contacts(
                connection, self._now(), after=self._last_served, busy=busy, limit=free_slots
            )
        if due_channels:
            self._last_served = due_channels[-1]
        return StartedSets([_ContactSetKey(*key, unanswered[key]) for key in due_channels])

    async def hand_over(self, key: _ContactSetKey) -> AsyncIterator[HandedOverContacts]:
        """Yield the interrupted contacts of the channel, then its due contacts: one full set, or
        small sets for at most `_MAX_TURN_SECONDS`."""
        async with self._resources.database.connection() as connection:
            merchant = await load_merchant(connection, key.merchant_id)
        if merchant is None:
            return
        handed_over = await self._resume_interrupted(merchant, key.channel)
        if not handed_over.is_empty:
            yield handed_over
        limits = self._compute_limits(merchant, key)
        until = monotonic() + _MAX_TURN_SECONDS
        while limits.limit > 0:
            handed_over = await self._prepare_planned(merchant, limits)
            if not handed_over.is_empty:
                yield handed_over
            is_full = len(handed_over.items) == limits.limit
            if not is_full or limits.limit == SET_SIZE or monotonic() > until:
                break

    def _compute_limits(self, merchant: Merchant, key: _ContactSetKey) -> SetLimits:
        """Return the limits of the next set: as many messages as the provider may leave unanswered
        at a time, minus those that are unanswered now."""
        provider = self._adapters.find_paced_provider(merchant, key.channel)
        max_unanswered = SET_SIZE if provider is None else min(SET_SIZE, provider.pace.at_once)
        self._max_unanswered[key.merchant_channel] = max_unanswered
        send_rate = None
        if provider is not None and provider.pace.per_second is not None:
            send_rate = SendRate(provider.name, provider.pace.per_second)
        return SetLimits(key.channel, max(0, max_unanswered - key.unanswered), send_rate)

    async def _prepare_planned(self, merchant: Merchant, limits: SetLimits) -> HandedOverContacts:
        lease = start_lease(self._resources)
        prepared = await prepare_contacts(
            self._resources, self._letters, merchant, lease,
            limits=limits, heartbeat_seconds=self._heartbeat_seconds,
        )  # fmt: skip
        now = merchant.now(self._resources.clock)
        calls = [
            ContactCall(each.planned.contact, each.content, now, each.pdf)
            for each in prepared.handed_over
        ]
        return self._build_handed_over(merchant, prepared.lease, calls, prepared.refused)

    async def _resume_interrupted(self, merchant: Merchant, channel: Channel) -> HandedOverContacts:
        lease, real_now = start_lease(self._resources), self._now()
        is_repeatable = channel in self._adapters.list_repeatable(merchant)
        # Quiet hours apply here too, because an interrupted contact may not have been sent yet.
        # Sandboxes are exempt: their clock does not advance while messages are in progress, so
        # their quiet hours would never end.
        quiet = list_quiet_channels(merchant.configuration, real_now)
        resumed = []
        async with self._resources.database.transaction() as tx:
            if is_repeatable and (merchant.is_sandbox or channel not in quiet):
                resumed = await resume_interrupted(
                    tx,
                    merchant.merchant_id,
                    real_now=real_now,
                    lease=lease,
                    channel=channel,
                    limit=SET_SIZE,
                )
            unknown = await mark_unknown(
                tx, merchant.merchant_id, real_now, channel,
                is_repeatable=is_repeatable, limit=SET_SIZE,
            )  # fmt: skip
            unrepeatable = await self._list_unrepeatable(
                tx, merchant, [contact for contact, _, _ in resumed]
            )
            # A token or code that was derived with a removed version of the secret key cannot be
            # restored.
            versions = self._resources.keys.versions
            unrepeatable += [
                contact
                for contact, content, _ in resumed
                if content.key_version not in versions and contact not in unrepeatable
            ]
        for communication_id in [*unknown, *(each.communication_id for each in unrepeatable)]:
            log.error("outcome unknown", communication_id=str(communication_id))
        calls = [
            ContactCall(contact, content, at, is_repeat=True)
            for contact, content, at in resumed
            if contact not in unrepeatable
        ]
        answered: list[tuple[LeasedContact, ContactAnswer]] = [
            (contact, Unanswered(is_repeatable=False)) for contact in unrepeatable
        ]
        return self._build_handed_over(merchant, lease, calls, answered)

    async def _list_unrepeatable(
        self, tx: Connection, merchant: Merchant, contacts: Sequence[LeasedContact]
    ) -> list[LeasedContact]:
        """Return the contacts that may have been sent and must not be sent again, for example
        because the address was suppressed or the debtor reported dead in the meantime."""
        by_id = {contact.communication_id: contact for contact in contacts}
        if not by_id:
            return []
        usable = await load_usable_channels(tx, self._resources.keys, merchant, by_id)
        stopped = await list_stopped_claims(
            tx,
            self._resources.keys,
            {(merchant.merchant_id, contact.claim_id) for contact in contacts},
        )
        return [
            contact
            for key, contact in by_id.items()
            if contact.channel not in usable[key]
            or (merchant.merchant_id, contact.claim_id) in stopped
        ]

    def _build_handed_over(
        self, merchant: Merchant, lease: Lease, calls: Sequence[ContactCall],
        answered: Sequence[tuple[LeasedContact, ContactAnswer]],
    ) -> HandedOverContacts:  # fmt: skip
        resources = self._resources
        source = MessageSource(merchant, resources.settings.public_url, resources.keys)
        leased = LeasedCalls(lease, calls, answered)
        return HandedOverContacts(
            resources, self._letters, source, leased=leased, memory=self._memory
        )

    def _now(self) -> datetime:
        return self._resources.clock.now()
