"""Letters that are uploaded as files and released by a manifest (see `contact.sending.batches`).

Sending is repeatable: an id determines the reference, and the reference determines the file. A
manifest contains only letters that are registered as uploaded. Whatever fails, a letter is either
printed once or not at all.
"""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

import structlog

from dunwell.accounts.installation.delivery_providers import (
    FolderProvider,
    ProviderPace,
    SftpProvider,
    describe_letter_location,
)
from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.print_service.letter_files import (
    LetterRejected,
    PrintServiceFiles,
    build_letter_files,
)
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.sending.batches.letter_folder import (
    ExchangeFolder,
    HostKeyRefused,
    PrintProvider,
)
from dunwell.contact.sending.batches.manifest import BatchLetter
from dunwell.contact.sending.batches.status_file import load_status_format
from dunwell.contact.sending.batches.store import (
    BatchItem,
    ItemKey,
    ItemState,
    begin_items,
    finish_items,
    give_up_item,
    load_items,
)
from dunwell.contact.sending.channel import Accepted, Message, Outcome, Permanent, Temporary
from dunwell.contact.sending.references import build_reference
from dunwell.platform.request_batcher import RequestBatcher
from dunwell.platform.resources import Resources

_RETRY_AFTER_SECONDS = 60
_NOT_UPLOADED = "The print service did not accept the letter's file."
# An operator has to check the host key first.
_HOST_KEY_RETRY_SECONDS = 600
# By this time a worker knows the new installation file.
_MOVED_RETRY_SECONDS = 10
# Letters that are registered by one statement.
_REGISTERED_AT_ONCE = 500
# Shorter than the sender's timeout for a call.
_UPLOAD_SECONDS, _LIST_SECONDS = 40, 12

log = structlog.get_logger(__name__)


class PrintServiceChannel:
    """Sends letters through an `ExchangeFolder`. It must be closed, because it holds a connection
    and a child process for enclosures."""

    channel: Channel = "LETTER"
    is_repeatable = True

    def __init__(
        self, name: str, provider: FolderProvider | SftpProvider, letter_folder: ExchangeFolder,
        resources: Resources,
        printer: LetterPrinter | None = None,
    ) -> None:  # fmt: skip
        """`printer` processes enclosures. Without it, the channel starts its own."""
        self.name = name
        self._provider = provider
        self._letter_folder = letter_folder
        self._resources = resources
        self._printer = printer or LetterPrinter(1)
        # Letters that are sent at the same time are registered together.
        self._registrations = RequestBatcher(self._register_items, room=_REGISTERED_AT_ONCE)
        self._completions = RequestBatcher(self._complete_items, room=_REGISTERED_AT_ONCE)

    @property
    def pace(self) -> ProviderPace:
        return self._provider.pace

    @property
    def print_provider(self) -> PrintProvider:
        status_format = load_status_format(self._provider.status_format)
        return PrintProvider(
            self.name,
            self._letter_folder,
            batch=self._provider.batch,
            status_format=status_format,
            layout=self._provider.layout,
        )

    async def close(self) -> None:
        await self._printer.close()
        await self._letter_folder.close()

    async def send(self, message: Message) -> Outcome:
        """Upload a letter. Return Accepted once its file has its final name and is registered, and
        Temporary if the upload failed: a letter that is not registered is never printed."""
        key = (message.merchant_id, message.communication_id)
        reference = build_reference(self._resources.keys, *key)
        try:
            files = await build_letter_files(
                message,
                reference,
                printer=self._printer,
                enclosures=self._provider.enclosures,
                max_pages=self._provider.most_pages,
            )
        except LetterRejected as error:
            return Permanent(str(error))
        names = frozenset({reference})
        state = await self._registrations.ask(None, (key, files.letter), names=names)
        if state is None:
            return Temporary(
                _MOVED_RETRY_SECONDS, "The print provider is being moved to another folder."
            )
        if state != "UPLOADING":
            return Accepted(reference)
        refusal = await self._upload(files)
        if refusal is not None:
            return refusal
        is_complete = await self._completions.ask(None, key)
        return (
            Accepted(reference) if is_complete else Temporary(_RETRY_AFTER_SECONDS, _NOT_UPLOADED)
        )

    async def look_up_outcomes(self, communication_ids: Sequence[UUID]) -> Mapping[UUID, bool]:
        """Return for each registered letter whether it was sent. For an interrupted upload, the
        files in the folder decide. Raises OSError if the folder cannot be reached."""
        async with self._resources.database.connection() as connection:
            items = await load_items(connection, self.name, communication_ids)
        interrupted = [item for item in items.values() if item.state == "UPLOADING"]
        listed = await self._letter_folder.list() if interrupted else {}
        was_sent = {item_id: item.state != "UPLOADING" for item_id, item in items.items()}
        for item in interrupted:
            was_sent[item.communication_id] = await self._resolve_upload(item, listed)
        return was_sent

    async def _register_items(
        self, letters: Sequence[tuple[ItemKey, BatchLetter]]
    ) -> Sequence[ItemState | None]:
        location, now = describe_letter_location(self._provider), self._resources.clock.now()
        async with self._resources.database.transaction() as tx:
            states = await begin_items(tx, self.name, letters, location=location, real_now=now)
        return [states.get(key) for key, _ in letters]

    async def _complete_items(self, keys: Sequence[ItemKey]) -> Sequence[bool]:
        async with self._resources.database.connection() as connection:
            finished = await finish_items(connection, keys, self._resources.clock.now())
        return [key in finished for key in keys]

    async def _resolve_upload(self, item: BatchItem, listed: Mapping[str, int]) -> bool:
        """Register the letter as uploaded if all its files are in the folder, otherwise give it up.
        Return whether it counts as sent."""
        key = (item.merchant_id, item.communication_id)
        async with self._resources.database.connection() as connection:
            if all(name in listed for name in item.files):
                return bool(await finish_items(connection, [key], self._resources.clock.now()))
            return not await give_up_item(connection, key)

    async def _upload(self, files: PrintServiceFiles) -> Outcome | None:
        """Upload the files. Return None if all of them are there."""
        try:
            async with asyncio.timeout(_UPLOAD_SECONDS):
                for name, content in files.contents.items():
                    await self._letter_folder.write(name, content)
        except HostKeyRefused:
            log.error("host key refused", provider=self.name)  # noqa: TRY400 - the message is enough
            return Temporary(_HOST_KEY_RETRY_SECONDS, "The print service has another host key.")
        except OSError as error:
            if await self._was_uploaded(files):
                return None
            log.warning("letter not handed over", provider=self.name, error=type(error).__name__)
            return Temporary(_RETRY_AFTER_SECONDS, _NOT_UPLOADED)
        return None

    async def _was_uploaded(self, files: PrintServiceFiles) -> bool:
        """Return whether all files were uploaded although the response was lost. Return False if
        that cannot be determined: an unregistered letter is not printed."""
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                listed = await self._letter_folder.list()
        except OSError:
            return False
        return all(listed.get(name) == len(content) for name, content in files.contents.items())
