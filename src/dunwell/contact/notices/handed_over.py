"""A notice that was handed over: what its channel is given, and what the answer means for it."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.creditors import find_creditor, find_sender
from dunwell.contact.messages.letters.printer import (
    LetterPrinter,
    ScriptMissing,
    Unprintable,
    describe_missing,
)
from dunwell.contact.messages.letters.sheet import write_sheet
from dunwell.contact.messages.letters.short_letter import put_on
from dunwell.contact.notices.leased_store import renew_notice, settle_notice, take_back_notices
from dunwell.contact.notices.notice import is_ended_by_one_click
from dunwell.contact.notices.secrets import unmask
from dunwell.contact.notices.settled import count_unsent
from dunwell.contact.notices.settlement import Settlement, decide_settlement
from dunwell.contact.notices.store import (
    LeasedNotice,
)
from dunwell.contact.sending.channel import (
    Answer,
    Message,
    MessageFile,
    Permanent,
    Temporary,
    Uncalled,
)
from dunwell.contact.sending.heed_refusals import heed_refusals
from dunwell.contact.sending.logo import find_logo
from dunwell.contact.sending.references import write_reference
from dunwell.core.files.upload import PDF
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.resources import Resources

_PRINTER_AWAY_SECONDS = 60

log = structlog.get_logger(__name__)


class HandedOverNotice:
    """A `sending.sender.HandedOver` of one."""

    def __init__(
        self, resources: Resources, printer: LetterPrinter, merchant: Merchant,
        leased: LeasedNotice, lease: Lease, *, layout: str,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._printer = printer
        self._layout = layout
        self.merchant = merchant
        self.leased = leased
        self.lease = lease
        self.answered: Sequence[tuple[LeasedNotice, Answer]] = ()

    @property
    def items(self) -> Sequence[LeasedNotice]:
        return (self.leased,)

    @asynccontextmanager
    async def compose(self, item: LeasedNotice) -> AsyncIterator[Message | Temporary | Permanent]:
        """Link or code is put in; a letter is printed, the same each time."""
        creditor, notice = find_creditor(self.merchant), item.notice
        keys = self._resources.keys
        addressee = notice.addressee

        def show(text: str) -> str:
            return unmask(
                keys, notice.kind, notice_id=item.notice_id, text=text, key_version=item.key_version
            )

        try:
            pdf = await self._print(item)
        except ScriptMissing as error:
            yield Permanent(describe_missing(error))
            return
        except (Unprintable, OSError) as error:
            log.exception("not printed", notice_id=str(item.notice_id), error=type(error).__name__)
            yield Temporary(_PRINTER_AWAY_SECONDS, "The letter could not be printed.")
            return
        sheet = notice.sheet
        yield Message(
            communication_id=item.notice_id,
            merchant_id=self.merchant.merchant_id,
            claim_id=addressee.claim_id,
            channel=addressee.channel,
            recipient=addressee.recipient if sheet is None else "\n".join(sheet.address),
            sender=find_sender(self.merchant, addressee.channel, creditor),
            sender_name=creditor.legal_name,
            reply_to=creditor.email if addressee.channel == "EMAIL" else None,
            language=addressee.language,
            subject=show(notice.subject) if notice.subject else None,
            body_text=show(notice.body_text),
            body_html=show(notice.body_html) if notice.body_html else None,
            created_at=item.dated_at,
            logo=find_logo(self.merchant, notice.body_html),
            document=pdf,
            is_sandbox=self.merchant.is_sandbox,
            unsubscribe_url=self._find_unsubscribe_url(item),
        )

    def _find_unsubscribe_url(self, item: LeasedNotice) -> str | None:
        notice, resources = item.notice, self._resources
        if notice.addressee.channel != "EMAIL" or not is_ended_by_one_click(notice.kind):
            return None
        reference = write_reference(resources.keys, item.merchant_id, item.notice_id)
        return f"{resources.settings.public_url}/u/{reference}"

    async def _print(self, item: LeasedNotice) -> MessageFile | None:
        """Raises Unprintable, OSError."""
        notice, brand = item.notice, self.merchant.configuration.brand
        if notice.sheet is None:
            return None
        sheet = write_sheet(put_on(notice.sheet, brand, self._layout)).decode()
        shown = unmask(
            self._resources.keys,
            notice.kind,
            notice_id=item.notice_id,
            text=sheet,
            key_version=item.key_version,
        )
        pdf = await self._printer.print_sheet(shown.encode())
        return MessageFile(f"{item.notice_id}.pdf", PDF, pdf)

    async def keep(self, tx: Connection, until: datetime) -> Collection[UUID]:
        is_held = await renew_notice(tx, self.leased, self.lease.lease_id, until)
        return [self.leased.notice_id] if is_held else []

    async def settle(self, tx: Connection, answers: Sequence[tuple[LeasedNotice, Answer]]) -> int:
        [(leased, answer)] = answers
        now = self._resources.clock.now()
        if isinstance(answer, Uncalled):
            # One that was handed over before is taken up again when its lease runs out.
            await take_back_notices(tx, [leased], self.lease.lease_id, now)
            return 0
        settlement = decide_settlement(
            answer, tries=leased.tries, expires_at=leased.expires_at, now=now
        )
        line = find_line_of(self.merchant, leased)
        settled = await record_notice(
            tx, leased, self.lease.lease_id, settlement, line=line, now=now
        )
        if isinstance(answer, Temporary):
            log.warning(
                "notice put off",
                notice_id=str(leased.notice_id),
                merchant_id=leased.merchant_id,
                reason=answer.reason,
            )
        if isinstance(answer, Permanent):
            addressee = leased.notice.addressee
            work = Work.open(self._resources, tx, self.merchant, SYSTEM)
            refusal = (addressee.channel, addressee.recipient, answer)
            await heed_refusals(work, self._resources.keys, [refusal])
        return settled


async def record_notice(
    tx: Connection, each: LeasedNotice, lease_id: UUID, settlement: Settlement,
    *, line: str | None, now: datetime,
) -> int:  # fmt: skip
    is_saved = await settle_notice(
        tx, each, lease_id=lease_id, settlement=settlement, line=line, now=now
    )
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


def find_line_of(merchant: Merchant, each: LeasedNotice) -> str | None:
    """None: its channel is no line of the installation file."""
    setup = merchant.configuration.channels.get(each.notice.addressee.channel)
    return setup.line if setup else None
