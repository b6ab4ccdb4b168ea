"""Contacts that were handed over under one lease: what their channels are given, and what the
answers mean for their claims.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.errors import Unavailable
from dunwell.escalation.claim_contact_store import load_tried
from dunwell.escalation.compose_contact import Files, make_message
from dunwell.escalation.contact_store import keep_contacts
from dunwell.escalation.letterhead import Letterhead
from dunwell.escalation.process import find_process
from dunwell.escalation.schedule import NOTHING_TRIED, Tried
from dunwell.escalation.settle_contacts import AnsweredContact, settle_contacts
from dunwell.escalation.settlement import Answer, Attempt, decide_settlement
from dunwell.escalation.usable_channels import load_usable_channels
from dunwell.files.attachments import Attachment, find_attachments
from dunwell.files.content_types import PDF
from dunwell.files.storage import ContentMissing
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.configuration import Channel
from dunwell.merchants.merchant import Merchant
from dunwell.messages.contact import Contact, Content
from dunwell.messages.letters.letter_files import LetterFiles
from dunwell.sending.channel import (
    Accepted,
    Message,
    MessageFile,
    Outcome,
    Permanent,
    Temporary,
    Unanswered,
)
from dunwell.sending.heed_refusals import heed_refusals
from dunwell.workflows.store import hold_workflows, load_newest

_CALLS_AT_ONCE = 50
# Files of many megabytes are in memory for as long as their call takes.
_CALLS_WITH_FILES_AT_ONCE = 4
_FILES_AWAY_SECONDS = 60

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    contact: Contact
    content: Content
    # The merchant's time of the hand-over.
    at: datetime
    # A letter that was printed just now; of one that is repeated it is loaded.
    pdf: bytes | None = None


class HandedOverContacts:
    """A `sending.sender.HandedOver`. `answered`: contacts whose channels are not called; what they
    are answered instead is settled with the others."""

    def __init__(
        self, resources: Resources, letters: LetterFiles, head: Letterhead, lease_id: UUID,
        *, calls: Sequence[Call], answered: Sequence[tuple[Contact, Answer]],
    ) -> None:  # fmt: skip
        self._resources = resources
        self._letters = letters
        self._head = head
        self._lease_id = lease_id
        self._answered = answered
        self._slots = asyncio.Semaphore(_CALLS_AT_ONCE)
        self._slots_with_files = asyncio.Semaphore(_CALLS_WITH_FILES_AT_ONCE)
        self.items = calls

    @property
    def merchant(self) -> Merchant:
        return self._head.merchant

    @property
    def is_empty(self) -> bool:
        return not self.items and not self._answered

    @asynccontextmanager
    async def compose(self, item: Call) -> AsyncIterator[Message | Temporary]:
        """Link, code and files are put in. Temporary: the files are away, nothing has left."""
        has_files = bool(item.content.attachment_ids)
        async with self._slots_with_files if has_files else self._slots:
            try:
                files = await self._load_files(item)
            except (ContentMissing, Unavailable) as error:
                log.exception(
                    "files away",
                    communication_id=str(item.contact.communication_id),
                    error=type(error).__name__,
                )
                yield Temporary(_FILES_AWAY_SECONDS)
            else:
                yield make_message(
                    self._head, item.contact, content=item.content, created_at=item.at, files=files
                )

    async def keep(self, tx: Connection, until: datetime) -> None:
        contacts = [call.contact for call in self.items]
        contacts += [contact for contact, _ in self._answered]
        ids = [contact.communication_id for contact in contacts]
        await keep_contacts(
            tx,
            self.merchant.merchant_id,
            communication_ids=ids,
            lease_id=self._lease_id,
            until=until,
        )

    async def settle(
        self, tx: Connection, answers: Sequence[tuple[Call, Outcome | Unanswered]]
    ) -> int:
        answered = [*self._answered, *((call.contact, answer) for call, answer in answers)]
        resources, merchant = self._resources, self.merchant
        work = Work.open(resources, tx, merchant, SYSTEM)
        keys = {contact.process_key for contact, _ in answered}
        if not merchant.switched_to_workflows:
            # A scenario is edited in place: not between here and where its claims go on.
            await hold_workflows(tx, merchant.merchant_id, {key for key, _ in keys})
        versions = await load_newest(tx, merchant.merchant_id, keys)
        refused = [contact for contact, answer in answered if not isinstance(answer, Accepted)]
        attempts = await self._load_attempts(tx, refused)
        settled = []
        for contact, answer in answered:
            version = versions[contact.process_key]
            process = find_process(version, merchant.configuration.timezone)
            step = process.find_contact_step(contact.step_id)
            usable, tried = attempts.get(contact.communication_id, (frozenset(), NOTHING_TRIED))
            attempt = Attempt(step, contact.tries + 1, usable, tried)
            settlement = decide_settlement(attempt, answer, work.now)
            settled.append(AnsweredContact(contact, settlement, process, version.version_id))
        count = await settle_contacts(work, settled, self._lease_id)
        refusals = [
            (call.contact.channel, call.content.recipient, answer)
            for call, answer in answers
            if isinstance(answer, Permanent)
        ]
        await heed_refusals(work, resources.keys, refusals)
        return count

    async def _load_attempts(
        self, tx: Connection, refused: Collection[Contact]
    ) -> dict[UUID, tuple[frozenset[Channel], Tried]]:
        """What else there is for contacts that were not accepted, and what was tried."""
        if not refused:
            return {}
        contacts = {contact.communication_id: contact for contact in refused}
        keys = self._resources.keys
        usable = await load_usable_channels(tx, keys, self.merchant, contacts)
        tried = await load_tried(tx, self.merchant.merchant_id, contacts)
        return {key: (usable[key], tried.get(key, NOTHING_TRIED)) for key in contacts}

    async def _load_files(self, call: Call) -> Files:
        """Raises ContentMissing, Unavailable."""
        attachments = []
        for attachment in await self._find_attachments(call):
            content = await self._letters.uploads.load(attachment.storage_key)
            file = MessageFile(attachment.file_name, attachment.content_type, content)
            attachments.append(file)
        key, pdf = call.content.document_key, call.pdf
        if key is None:
            return Files(None, tuple(attachments))
        pdf = pdf or await self._letters.load_letter(key)
        name = f"{call.contact.communication_id}.pdf"
        return Files(MessageFile(name, PDF, pdf), tuple(attachments))

    async def _find_attachments(self, call: Call) -> list[Attachment]:
        """In their order, without those taken from the claim since the message was rendered."""
        ids = call.content.attachment_ids
        if not ids:
            return []
        merchant_id, wanted = self.merchant.merchant_id, {call.contact.claim_id: ids}
        async with self._resources.database.connection() as connection:
            found = await find_attachments(connection, merchant_id, wanted)
        return [found[each] for each in ids if each in found]
