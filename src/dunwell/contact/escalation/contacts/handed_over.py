"""Contacts that were handed over under one lease: the messages for their channels, and the
recording of the answers."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.contacts.compose_contact import (
    MessageFiles,
    MessageSource,
    build_message,
)
from dunwell.contact.escalation.contacts.outcomes.record_outcomes import (
    AnsweredContact,
    record_outcomes,
)
from dunwell.contact.escalation.contacts.outcomes.settlement import (
    ContactAnswer,
    ContactAttempt,
    RetryContact,
    decide_settlement,
)
from dunwell.contact.escalation.contacts.store import renew_contacts
from dunwell.contact.escalation.prepared_workflow import get_prepared_workflow
from dunwell.contact.escalation.schedule import NOTHING_TRIED, TriedChannels
from dunwell.contact.escalation.store import load_tried_channels
from dunwell.contact.escalation.usable_channels import load_usable_channels
from dunwell.contact.messages.contact import Content, LeasedContact
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.contact.sending.channel import (
    Accepted,
    Message,
    MessageFile,
    Permanent,
    Temporary,
    Uncalled,
)
from dunwell.contact.sending.refused_addresses import suppress_refused_addresses
from dunwell.core.files.storage import ContentMissing
from dunwell.core.files.store import MessageAttachment, load_attachments_by_id
from dunwell.core.files.upload import PDF
from dunwell.core.workflows.store import load_newest, lock_workflows_for_reference
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

# The memory that one worker may use for the files of messages. A message needs about three times
# the size of its files while it is encoded. Ordinary files never reach the limit, so a slow
# recipient delays no other.
_MAX_BYTES = 96 * 1024 * 1024


class FileMemory:
    """A memory budget for attachments that all messages of a worker share. A message waits until
    there is room for its files."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = 0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, size_bytes: int) -> AsyncIterator[None]:
        """Reserve memory for the duration of the block. A file larger than the whole budget is sent
        alone."""
        if size_bytes == 0:
            yield
            return
        async with self._freed:
            await self._freed.wait_for(lambda: self._has_room(size_bytes))
            self._used_bytes += size_bytes
        try:
            yield
        finally:
            # Update the count before the first await, so that a cancelled message also frees its
            # memory.
            self._used_bytes -= size_bytes
            async with self._freed:
                self._freed.notify_all()

    def _has_room(self, size_bytes: int) -> bool:
        return self._used_bytes == 0 or self._used_bytes + size_bytes <= self._max_bytes


# Messages of one set that load files from the storage at the same time.
_MAX_CONCURRENT_CALLS = 50
# The number of different delays for contacts that failed at the same moment.
_SPREADS = 1_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ContactCall:
    contact: LeasedContact
    content: Content
    # The merchant's time of the hand-over.
    at: datetime
    # Set for a letter that was just printed; the PDF of a repeated letter is loaded.
    pdf: bytes | None = None
    # True if an earlier call may have reached the channel, so the hand-over cannot be undone.
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class LeasedCalls:
    """Contacts under one lease: those whose channel is called, and those that already have an
    outcome."""

    lease: Lease
    calls: Sequence[ContactCall] = ()
    answered: Sequence[tuple[LeasedContact, ContactAnswer]] = ()


class HandedOverContacts:
    """Contacts of one merchant that were handed over under one lease. Implements
    `contact.sending.sender.HandedOverPart`."""

    def __init__(
        self, resources: Resources, letters: LetterFiles, source: MessageSource,
        leased: LeasedCalls, memory: FileMemory,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._letters = letters
        self._source = source
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_CALLS)
        self._memory = memory
        self._calls = {call.contact.communication_id: call for call in leased.calls}
        self.lease = leased.lease
        self.items = [call.contact for call in leased.calls]
        self.answered = leased.answered

    @property
    def merchant(self) -> Merchant:
        return self._source.merchant

    @property
    def is_empty(self) -> bool:
        return not self.items and not self.answered

    @asynccontextmanager
    async def compose(self, item: LeasedContact) -> AsyncIterator[Message | Temporary]:
        """Fill in the link and the codes and load the files. Yield Temporary if the files cannot be
        loaded; nothing has been sent then."""
        call = self._calls[item.communication_id]
        async with self._slots, AsyncExitStack() as closing:
            try:
                attachments = await self._list_attachments(call)
                size_bytes = sum(each.size_bytes for each in attachments)
                await closing.enter_async_context(self._memory.reserve(size_bytes))
                files = await self._load_files(call, attachments)
            except (ContentMissing, Unavailable) as error:
                log.exception(
                    "files unavailable",
                    communication_id=str(item.communication_id),
                    error=type(error).__name__,
                )
                yield Temporary(reason="The attachments cannot be read from the storage.")
            else:
                yield build_message(
                    self._source, item, content=call.content, created_at=call.at, files=files
                )

    async def renew_lease(self, tx: Connection, until: datetime) -> Collection[UUID]:
        contacts = [*self.items, *(contact for contact, _ in self.answered)]
        ids = [contact.communication_id for contact in contacts]
        return await renew_contacts(
            tx,
            self.merchant.merchant_id,
            communication_ids=ids,
            lease_id=self.lease.lease_id,
            until=until,
        )

    async def record_answers(
        self, tx: Connection, answers: Sequence[tuple[LeasedContact, ContactAnswer]]
    ) -> int:
        answered = [pair for pair in answers if not self._keeps_its_lease(*pair)]
        resources, merchant = self._resources, self.merchant
        work = Work.open(resources, tx, merchant, SYSTEM)
        keys = {contact.workflow_key for contact, _ in answered}
        if not merchant.switched_to_workflows:
            # A scenario is edited in place. Lock it until its claims have continued.
            await lock_workflows_for_reference(
                tx, merchant.merchant_id, {workflow_id for workflow_id, _ in keys}
            )
        versions = await load_newest(tx, merchant.merchant_id, keys)
        refused = [contact for contact, answer in answered if not isinstance(answer, Accepted)]
        attempts = await self._load_attempts(tx, refused)
        settled = []
        for contact, answer in answered:
            version = versions[contact.workflow_key]
            workflow = get_prepared_workflow(version, merchant.configuration)
            step = workflow.find_contact_step(contact.step_id)
            usable, tried = attempts.get(contact.communication_id, (frozenset(), NOTHING_TRIED))
            spread = contact.communication_id.int % _SPREADS / _SPREADS
            attempt = ContactAttempt(step, contact.attempts + 1, usable, tried, spread=spread)
            settlement = decide_settlement(attempt, answer, work.now)
            settled.append(AnsweredContact(contact, settlement, workflow, version.version_id))
        count = await record_outcomes(work, settled, self.lease.lease_id)
        refusals = [
            (contact.channel, self._calls[contact.communication_id].content.recipient, answer)
            for contact, answer in answered
            if isinstance(answer, Permanent) and contact.communication_id in self._calls
        ]
        await suppress_refused_addresses(work, resources.keys, refusals)
        self._log_delays(settled)
        return count

    def _keeps_its_lease(self, contact: LeasedContact, answer: ContactAnswer) -> bool:
        """Return whether this is a repeated contact whose channel was not called this time. Its
        lease expires and it is resumed then."""
        call = self._calls.get(contact.communication_id)
        return isinstance(answer, Uncalled) and call is not None and call.is_repeat

    def _log_delays(self, settled: Sequence[AnsweredContact]) -> None:
        """Write one log entry for each reason, however many messages an unavailable server
        delays."""
        reasons = Counter(
            (each.contact.channel, each.settlement.reason)
            for each in settled
            if isinstance(each.settlement, RetryContact)
        )
        channels = self.merchant.configuration.channels
        for (channel, reason), count in reasons.items():
            setup = channels.get(channel)
            log.warning(
                "messages delayed",
                merchant_id=self.merchant.merchant_id,
                channel=channel,
                provider=setup.provider if setup else None,
                reason=reason,
                count=count,
            )

    async def _load_attempts(
        self, tx: Connection, refused: Collection[LeasedContact]
    ) -> dict[UUID, tuple[frozenset[Channel], TriedChannels]]:
        """Load the usable channels and the channels already tried, for contacts that were not
        accepted."""
        if not refused:
            return {}
        contacts = {contact.communication_id: contact for contact in refused}
        keys = self._resources.keys
        usable = await load_usable_channels(tx, keys, self.merchant, contacts)
        tried = await load_tried_channels(tx, self.merchant.merchant_id, contacts)
        return {key: (usable[key], tried.get(key, NOTHING_TRIED)) for key in contacts}

    async def _load_files(
        self, call: ContactCall, attachments: Sequence[MessageAttachment]
    ) -> MessageFiles:
        """Load the contents of the message's attachments, and the PDF of a letter. Raises
        ContentMissing, Unavailable."""
        loaded = []
        for attachment in attachments:
            content = await self._letters.uploads.load(attachment.storage_key)
            loaded.append(MessageFile(attachment.file_name, attachment.content_type, content))
        key, pdf = call.content.document_key, call.pdf
        if key is None:
            return MessageFiles(None, tuple(loaded))
        pdf = pdf or await self._letters.load_letter(key)
        name = f"{call.contact.communication_id}.pdf"
        return MessageFiles(MessageFile(name, PDF, pdf), tuple(loaded))

    async def _list_attachments(self, call: ContactCall) -> list[MessageAttachment]:
        """Return the attachments in order, without those removed from the claim after rendering."""
        ids = call.content.attachment_ids
        if not ids:
            return []
        merchant_id, wanted = self.merchant.merchant_id, {call.contact.claim_id: ids}
        async with self._resources.database.connection() as connection:
            attachments = await load_attachments_by_id(connection, merchant_id, wanted)
        return [attachments[attachment_id] for attachment_id in ids if attachment_id in attachments]
