"""Sends planned contacts, in sets of one merchant's: what was broken off first, then what is due.

How a set goes out is told in `sending.sender`; here is what a contact adds to it: it is rendered
between its lease and its hand-over, from the facts of that moment, and one that may have left is
not repeated to somebody who is not to be contacted any more.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from time import monotonic

import structlog

from dunwell.escalation.contact_store import find_merchants_with_contacts, mark_unknown, take_up
from dunwell.escalation.handed_over import Call, HandedOverContacts
from dunwell.escalation.letterhead import Letterhead
from dunwell.escalation.prepare_contacts import LinePace, Taking, prepare_contacts
from dunwell.escalation.sending_hours import find_quiet_channels
from dunwell.escalation.settlement import Answer
from dunwell.escalation.usable_channels import load_usable_channels
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.configuration import CHANNELS
from dunwell.merchants.merchant import Merchant
from dunwell.merchants.store import load_merchant
from dunwell.messages.contact import Contact
from dunwell.messages.letters.letter_files import LetterFiles
from dunwell.messages.letters.printer import LetterPrinter
from dunwell.sending.adapters import Adapters, BoundLine, FindLine, find_no_line
from dunwell.sending.channel import ChannelAdapter, Unanswered
from dunwell.sending.lease import BEAT_SECONDS, Lease, begin_lease
from dunwell.sending.sender import Begun, Sender

SET_SIZE = 200
# Each merchant has one, so that one merchant's slow channel holds up nobody else's.
_MERCHANT_SLOTS = 8
# A line's small sets follow each other for so long, before all else of the merchant is looked at.
_LINE_SECONDS = 1.0

log = structlog.get_logger(__name__)


class MessageDispatcher(Sender[int]):
    """Its sets are known by their merchants' ids. printer: unless given, one of its own."""

    def __init__(
        self, resources: Resources, adapters: Collection[ChannelAdapter],
        *, find_line: FindLine = find_no_line, beat_seconds: float = BEAT_SECONDS,
        printer: LetterPrinter | None = None,
    ) -> None:  # fmt: skip
        self._letters = LetterFiles.open(resources, printer)
        known = Adapters(adapters, find_line)
        queue = _ContactQueue(resources, self._letters, known, beat_seconds=beat_seconds)
        super().__init__(resources, known, queue, slots=_MERCHANT_SLOTS, beat_seconds=beat_seconds)

    async def close(self) -> None:
        """Letters are printed by processes of its own."""
        await super().close()
        await self._letters.close()


def _take_of(line: BoundLine) -> Taking:
    others = [channel for channel in CHANNELS if channel != line.channel]
    rate = line.pace.per_second
    pace = LinePace(line.name, rate) if rate is not None else None
    return Taking(min(SET_SIZE, line.pace.at_once), others, pace)


class _ContactQueue:
    """A `sending.sender.Queue`."""

    def __init__(
        self, resources: Resources, letters: LetterFiles, adapters: Adapters,
        *, beat_seconds: float,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._letters = letters
        self._adapters = adapters
        self._beat_seconds = beat_seconds
        self._last_merchant_id = 0

    async def begin(self, running: Sequence[int], room: int) -> Begun[int]:
        """Merchants take turns."""
        async with self._resources.database.connection() as connection:
            merchant_ids = await find_merchants_with_contacts(
                connection,
                self._now(),
                behind_merchant_id=self._last_merchant_id,
                busy=running,
                limit=room,
            )
        if merchant_ids:
            self._last_merchant_id = merchant_ids[-1]
        return Begun(merchant_ids)

    async def hand_over(self, key: int) -> AsyncIterator[HandedOverContacts]:
        async with self._resources.database.connection() as connection:
            merchant = await load_merchant(connection, key)
        if merchant is None:
            return
        handed_over = await self._take_up_broken_off(merchant)
        if not handed_over.is_empty:
            yield handed_over
        until = monotonic() + _LINE_SECONDS
        for taking in self._list_takings(merchant):
            while True:
                handed_over = await self._prepare_planned(merchant, taking)
                if not handed_over.is_empty:
                    yield handed_over
                is_full = len(handed_over.items) == taking.limit
                if not is_full or taking.limit == SET_SIZE or monotonic() > until:
                    break

    def _list_takings(self, merchant: Merchant) -> list[Taking]:
        """One set of each line, as large as may leave unseen at a time; one of all the rest."""
        lines = self._adapters.list_bound(merchant)
        rest = Taking(SET_SIZE, without=[line.channel for line in lines])
        return [rest, *(_take_of(line) for line in lines)]

    async def _prepare_planned(self, merchant: Merchant, taking: Taking) -> HandedOverContacts:
        lease = begin_lease(self._resources)
        prepared = await prepare_contacts(
            self._resources, self._letters, merchant, lease,
            taking=taking, beat_seconds=self._beat_seconds,
        )  # fmt: skip
        now = merchant.now(self._resources.clock)
        calls = [
            Call(each.planned.contact, each.content, now, each.pdf) for each in prepared.handed_over
        ]
        return self._describe(merchant, lease, calls, prepared.refused)

    async def _take_up_broken_off(self, merchant: Merchant) -> HandedOverContacts:
        lease, real_now = begin_lease(self._resources), self._now()
        repeatable = self._adapters.list_repeatable(merchant)
        # It may not have left yet, so quiet hours keep it back too. A sandbox's clock stands still
        # while anything is under way: its quiet hours would not end.
        quiet = find_quiet_channels(merchant.configuration, real_now)
        wanted = [each for each in repeatable if merchant.is_sandbox or each not in quiet]
        async with self._resources.database.transaction() as tx:
            taken = await take_up(
                tx,
                merchant.merchant_id,
                real_now=real_now,
                lease=lease,
                channels=wanted,
                limit=SET_SIZE,
            )
            unknown = await mark_unknown(tx, merchant.merchant_id, real_now, repeatable)
            lost = await self._find_lost(tx, merchant, [contact for contact, _, _ in taken])
            # Its token and code were made with a version of the secret key that is gone.
            versions = self._resources.keys.versions
            lost += [
                contact
                for contact, content, _ in taken
                if content.key_version not in versions and contact not in lost
            ]
        for communication_id in [*unknown, *(each.communication_id for each in lost)]:
            log.error("send unknown", communication_id=str(communication_id))
        calls = [
            Call(contact, content, at) for contact, content, at in taken if contact not in lost
        ]
        answered: list[tuple[Contact, Answer]] = [
            (contact, Unanswered(is_repeatable=False)) for contact in lost
        ]
        return self._describe(merchant, lease, calls, answered)

    async def _find_lost(
        self, tx: Connection, merchant: Merchant, contacts: Sequence[Contact]
    ) -> list[Contact]:
        """What may have left and must not leave again: the address was suppressed since, say."""
        by_id = {contact.communication_id: contact for contact in contacts}
        if not by_id:
            return []
        usable = await load_usable_channels(tx, self._resources.keys, merchant, by_id)
        return [contact for key, contact in by_id.items() if contact.channel not in usable[key]]

    def _describe(
        self, merchant: Merchant, lease: Lease, calls: Sequence[Call],
        answered: Sequence[tuple[Contact, Answer]],
    ) -> HandedOverContacts:  # fmt: skip
        resources = self._resources
        head = Letterhead(merchant, resources.settings.public_url, resources.keys)
        return HandedOverContacts(
            resources, self._letters, head, lease.lease_id, calls=calls, answered=answered
        )

    def _now(self) -> datetime:
        return self._resources.clock.now()
