"""Calls channels with what was handed over: puts link, code and files in. No transaction is open
here.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.errors import Unavailable
from dunwell.escalation.compose_contact import Files, make_message
from dunwell.escalation.letterhead import Letterhead
from dunwell.escalation.settlement import Answer
from dunwell.escalation.workshop import Workshop
from dunwell.files.attachments import Attachment, find_attachments
from dunwell.files.content_types import PDF
from dunwell.files.storage import ContentMissing
from dunwell.merchants.account import Merchant
from dunwell.merchants.configuration import Channel
from dunwell.messages.calling import call_channel
from dunwell.messages.channel import ChannelAdapter, Message, MessageFile, Temporary, Unanswered
from dunwell.messages.store import Contact, Content

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


@dataclass(frozen=True, slots=True)
class _Round:
    """What the calls of one set share."""

    head: Letterhead
    attachments: Mapping[UUID, Attachment]
    slots: asyncio.Semaphore
    slots_with_files: asyncio.Semaphore


class ChannelCaller:
    def __init__(self, workshop: Workshop, adapters: Collection[ChannelAdapter]) -> None:
        self._workshop = workshop
        self._adapters = {(each.channel, each.name): each for each in adapters}

    def list_repeatable(self, merchant: Merchant) -> list[Channel]:
        """The merchant's channels that make one message of one id however often they are called."""
        return [
            channel
            for channel in merchant.configuration.channels
            if (adapter := self._find_adapter(merchant, channel)) and adapter.is_repeatable
        ]

    async def call(self, merchant: Merchant, calls: Sequence[Call]) -> list[tuple[Contact, Answer]]:
        """Every call with its answer, in order."""
        if not calls:
            return []
        resources = self._workshop.resources
        shared = _Round(
            Letterhead(merchant, resources.settings.public_url, resources.keys),
            await self._find_attachments(merchant, calls),
            asyncio.Semaphore(_CALLS_AT_ONCE),
            asyncio.Semaphore(_CALLS_WITH_FILES_AT_ONCE),
        )
        answers = await asyncio.gather(*(self._call(shared, call) for call in calls))
        return [(call.contact, answer) for call, answer in zip(calls, answers, strict=True)]

    async def _find_attachments(
        self, merchant: Merchant, calls: Sequence[Call]
    ) -> Mapping[UUID, Attachment]:
        wanted: dict[int, list[UUID]] = {}
        for call in calls:
            if call.content.attachment_ids:
                wanted.setdefault(call.contact.claim_id, []).extend(call.content.attachment_ids)
        if not wanted:
            return {}
        async with self._workshop.resources.database.connection() as connection:
            return await find_attachments(connection, merchant.merchant_id, wanted)

    async def _call(self, shared: _Round, call: Call) -> Answer:
        adapter = self._find_adapter(shared.head.merchant, call.contact.channel)
        if adapter is None:
            return Unanswered(is_repeatable=True)
        has_files = bool(call.content.attachment_ids)
        async with shared.slots_with_files if has_files else shared.slots:
            if not has_files and call.content.document_key is None:
                return await call_channel(adapter, _compose(shared, call, None))
            try:
                files = await self._load_files(shared, call)
            except (ContentMissing, Unavailable) as error:
                # Nothing has left the house.
                log.exception(
                    "files away",
                    communication_id=str(call.contact.communication_id),
                    error=type(error).__name__,
                )
                return Temporary(_FILES_AWAY_SECONDS)
            return await call_channel(adapter, _compose(shared, call, files))

    async def _load_files(self, shared: _Round, call: Call) -> Files:
        """Raises ContentMissing, Unavailable."""
        attachments = []
        for attachment_id in call.content.attachment_ids:
            attachment = shared.attachments.get(attachment_id)
            if attachment is None:
                # Taken from the claim since the message was rendered.
                continue
            content = await self._workshop.storage.load(attachment.storage_key)
            file = MessageFile(attachment.file_name, attachment.content_type, content)
            attachments.append(file)
        key, pdf = call.content.document_key, call.pdf
        if key is None:
            return Files(None, tuple(attachments))
        pdf = pdf or await self._workshop.printer.load_letter(key)
        name = f"{call.contact.communication_id}.pdf"
        return Files(MessageFile(name, PDF, pdf), tuple(attachments))

    def _find_adapter(self, merchant: Merchant, channel: Channel) -> ChannelAdapter | None:
        setup = merchant.configuration.channels.get(channel)
        return self._adapters.get((channel, setup.adapter)) if setup else None


def _compose(shared: _Round, call: Call, files: Files | None) -> Message:
    return make_message(shared.head, call.contact, call.content, call.at, files)
