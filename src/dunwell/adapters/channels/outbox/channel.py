"""The outbox: e-mails, SMS and letters that become files in the data folder. Nothing is sent.

For rehearsals, special recipients make the outbox fail in different ways (`Behaviour`). Some
messages are accepted and reported as undeliverable later, as a delivery report, a bounce or the
post would do.
"""

import asyncio
import os
import re
import signal
from abc import ABC, abstractmethod
from enum import StrEnum
from mimetypes import MimeTypes
from pathlib import Path
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.channels.internet_message import AddressUnusable, build_internet_message
from dunwell.adapters.channels.outbox.folder import (
    LetterRecord,
    OutboxFolder,
    SmsRecord,
    list_marks,
)
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.contact.messages.letters.address import MAX_LINES
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.notices.notice_outcomes import report_notice_failure
from dunwell.contact.sending.channel import Accepted, Message, Outcome, Permanent, Temporary
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources


class Behaviour(StrEnum):
    # Temporary failure: sending is retried with growing delays.
    REFUSE = "refuse"
    FAIL = "fail"
    # Accepted, and reported as undeliverable soon after.
    FAIL_LATER = "fail-later"
    # No response at all.
    HANG = "hang"
    # The message is written, and the process dies before it can record that. Once per message.
    DIE = "die"


_BY_DIGITS = {
    "000001": Behaviour.REFUSE,
    "000002": Behaviour.FAIL,
    "000003": Behaviour.FAIL_LATER,
    "000004": Behaviour.HANG,
    "000005": Behaviour.DIE,
}
# These block a slot or kill the process, which affects other merchants.
_DEVELOPMENT_ONLY = frozenset({Behaviour.HANG, Behaviour.DIE})


def find_behaviour(
    channel: Channel, recipient: str, *, is_sandbox: bool, is_development: bool
) -> Behaviour | None:
    """Return the recipient's special behaviour, or None to accept the message."""
    if not (is_sandbox or is_development):
        return None
    behaviour = _find_named_behaviour(channel, recipient)
    return behaviour if is_development or behaviour not in _DEVELOPMENT_ONLY else None


def _find_named_behaviour(channel: Channel, recipient: str) -> Behaviour | None:
    if channel == "SMS":
        return _BY_DIGITS.get(recipient[-6:])
    texts = [recipient.rpartition("@")[0]] if channel == "EMAIL" else recipient.splitlines()
    named_behaviours = (
        behaviour for behaviour in Behaviour for text in texts if text.endswith(f"+{behaviour}")
    )
    return next(named_behaviours, None)


_RETRY_AFTER_SECONDS = 60
# Python's own table, so that the host's configuration does not matter.
_TYPES = MimeTypes()
_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")


class _Unusable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The channel cannot send the message. The text says why, without personal data."""


class _Outbox(ABC):
    """A channel that writes files. It is repeatable, because an id determines the file, and the
    same message always gives the same bytes."""

    name = "outbox"
    is_repeatable = True
    channel: Channel
    ending: str

    def __init__(
        self, data_dir: Path, *, keys: KeyRing | None = None, is_development: bool = False
    ) -> None:
        """`keys` encrypt the files. Without them, files are not encrypted."""
        self._folder = OutboxFolder(data_dir, keys)
        self._is_development = is_development

    async def send(self, message: Message) -> Outcome:
        """Write the message. Return Accepted once its file has its final name, and Temporary if the
        disk fails."""
        behaviour = find_behaviour(
            self.channel,
            message.recipient,
            is_sandbox=message.is_sandbox,
            is_development=self._is_development,
        )
        if behaviour is Behaviour.REFUSE:
            return Temporary(_RETRY_AFTER_SECONDS, "The outbox could not write the message.")
        if behaviour is Behaviour.FAIL:
            return Permanent("The outbox simulated a failure.")
        if behaviour is Behaviour.HANG:
            await asyncio.Event().wait()
        try:
            self._write_with_behaviour(message, behaviour)
        except _Unusable as error:
            return Permanent(str(error))
        except OSError:
            return Temporary(_RETRY_AFTER_SECONDS, "The outbox could not write the message.")
        return Accepted()

    def _write_with_behaviour(self, message: Message, behaviour: Behaviour | None) -> None:
        path = self._folder.build_path(self.channel, message, self.ending)
        is_first = behaviour is Behaviour.DIE and not path.exists()
        self._write(message, path)
        if behaviour is Behaviour.FAIL_LATER:
            self._folder.write(self._folder.build_mark_path(message), b"")
        if is_first:
            os.kill(os.getpid(), signal.SIGKILL)

    @abstractmethod
    def _write(self, message: Message, path: Path) -> None:
        """Write the file that counts as the message last. Raises _Unusable, OSError."""


class OutboxEmail(_Outbox):
    """Writes one `.eml` file for an e-mail."""

    channel: Channel = "EMAIL"
    ending = ".eml"

    def _write(self, message: Message, path: Path) -> None:
        try:
            content = build_internet_message(message)
        except AddressUnusable as error:
            reason = "The e-mail address cannot be written into a message."
            raise _Unusable(reason) from error
        self._folder.write(path, content)


class OutboxSms(_Outbox):
    """Writes one `.json` file for an SMS, with its text and number of parts."""

    channel: Channel = "SMS"
    ending = ".json"

    def _write(self, message: Message, path: Path) -> None:
        if _NUMBER.fullmatch(message.recipient) is None:
            raise _Unusable("The mobile number is not in international format.")
        parts = count_parts(message.body_text)
        record = SmsRecord(
            sender=message.sender,
            recipient=message.recipient,
            text=message.body_text,
            language=message.language,
            dated_at=message.created_at,
            alphabet=parts.alphabet,
            parts=parts.count,
        )
        self._folder.write(path, msgspec.json.format(msgspec.json.encode(record)))


class OutboxLetter(_Outbox):
    """Writes the `.pdf` of a letter, its numbered enclosures, and a `.json` with the recipient."""

    channel: Channel = "LETTER"
    ending = ".json"

    def _write(self, message: Message, path: Path) -> None:
        lines = message.recipient.splitlines()
        if not 0 < len(lines) <= MAX_LINES:
            raise _Unusable(f"An address has one to {MAX_LINES} lines.")
        if message.document is None:
            raise _Unusable("There is no document to print.")
        for number, file in enumerate(message.attachments, start=1):
            ending = f".{number}{_TYPES.guess_extension(file.content_type) or '.bin'}"
            self._folder.write(self._folder.build_path("LETTER", message, ending), file.content)
        self._folder.write(path.with_suffix(".pdf"), message.document.content)
        record = LetterRecord(
            sender=message.sender_name,
            recipient=message.recipient,
            subject=message.subject or "",
            language=message.language,
            dated_at=message.created_at,
            enclosures=[file.name for file in message.attachments],
        )
        self._folder.write(path, msgspec.json.format(msgspec.json.encode(record)))


_REASON = "The outbox simulated a late failure."
_LOAD_STATE = "SELECT state FROM communications WHERE merchant_id = $1 AND communication_id = $2"


async def report_late_failures(resources: Resources) -> int:
    """Report the failure of the messages that were accepted with FAIL_LATER, and return their
    number. A message whose acceptance is not recorded yet keeps its mark."""
    marks = await asyncio.to_thread(list_marks, resources.settings.data_dir)
    reported = 0
    for mark, merchant_id, communication_id in marks:
        if await _report_one(resources, merchant_id, communication_id):
            mark.unlink(missing_ok=True)
            reported += 1
    return reported


async def _report_one(resources: Resources, merchant_id: int, communication_id: UUID) -> bool:
    """Report the failure of the contact with this id or, if there is none, of the notice. Return
    whether the mark can be deleted."""
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        if merchant is None:
            return True
        work = Work.open(resources, tx, merchant, SYSTEM)
        state = await tx.fetchval(_LOAD_STATE, merchant_id, communication_id)
        if state is None:
            return await _report_notice(work, communication_id)
        if state in ("PLANNED", "HANDED_OVER"):
            return False
        await report_failure(work, resources.keys, communication_id, _REASON)
    return True


async def _report_notice(work: Work, notice_id: UUID) -> bool:
    try:
        await report_notice_failure(work, notice_id, _REASON)
    except InvalidState:
        return False
    except NotFound:
        pass
    return True
