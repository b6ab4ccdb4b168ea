"""Sends notices, each by itself: one that hangs holds up no other, and a merchant's slow channel
fills no more than its own few places.

How one goes out is told in `sending.sender`; here is what a notice adds to it: it was rendered when
it was planned, so its lease and its mark are one, and those of all merchants are taken at once.
Instants are real time; quiet hours and holds are not asked about.
"""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.files.content_types import PDF
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.configuration import Channel
from dunwell.merchants.merchant import Merchant
from dunwell.merchants.store import load_merchant
from dunwell.messages.creditors import find_creditor, find_sender
from dunwell.messages.letters.printer import (
    LetterPrinter,
    ScriptMissing,
    Unprintable,
    describe_missing,
)
from dunwell.messages.letters.sheet import write_sheet
from dunwell.messages.letters.short_letter import put_on
from dunwell.messages.suppression import load_reasons_of_many
from dunwell.notices.notice import heeds_suppression, is_ended_by_one_click
from dunwell.notices.secrets import unmask
from dunwell.notices.settled import count_unsent
from dunwell.notices.settlement import Settlement, Standing, decide_no_call, decide_settlement
from dunwell.notices.store import LeasedNotice, keep_notice, lease_notices, settle_notice
from dunwell.sending.adapters import Adapters, FindLine, find_no_line
from dunwell.sending.batches.line import choose_layout
from dunwell.sending.channel import (
    ChannelAdapter,
    Message,
    MessageFile,
    Outcome,
    Permanent,
    Temporary,
    Unanswered,
)
from dunwell.sending.heed_refusals import heed_refusals
from dunwell.sending.lease import BEAT_SECONDS, begin_lease
from dunwell.sending.logo import find_logo
from dunwell.sending.references import write_reference
from dunwell.sending.sender import Begun, Sender

_SLOTS = 64
# Of these as many for one channel of a merchant.
_CHANNEL_SLOTS = 8
_PRINTER_AWAY_SECONDS = 60

log = structlog.get_logger(__name__)


class HandedOverNotice:
    """A `sending.sender.HandedOver` of one."""

    def __init__(
        self, resources: Resources, printer: LetterPrinter, merchant: Merchant,
        leased: LeasedNotice, lease_id: UUID, *, layout: str,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._printer = printer
        self._lease_id = lease_id
        self._layout = layout
        self.merchant = merchant
        self.leased = leased

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
            yield Temporary(_PRINTER_AWAY_SECONDS)
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

    async def keep(self, tx: Connection, until: datetime) -> None:
        await keep_notice(tx, self.leased, self._lease_id, until)

    async def settle(
        self, tx: Connection, answers: Sequence[tuple[LeasedNotice, Outcome | Unanswered]]
    ) -> int:
        [(leased, answer)] = answers
        now = self._resources.clock.now()
        settlement = decide_settlement(
            answer, tries=leased.tries, expires_at=leased.expires_at, now=now
        )
        line = _find_line(self.merchant, leased)
        settled = await _record(tx, leased, self._lease_id, settlement, line=line, now=now)
        if isinstance(answer, Permanent):
            addressee = leased.notice.addressee
            work = Work.open(self._resources, tx, self.merchant, SYSTEM)
            refusal = (addressee.channel, addressee.recipient, answer)
            await heed_refusals(work, self._resources.keys, [refusal])
        return settled


class NoticeSender(Sender[HandedOverNotice]):
    def __init__(
        self, resources: Resources, adapters: Collection[ChannelAdapter],
        *, find_line: FindLine = find_no_line, beat_seconds: float = BEAT_SECONDS,
        printer: LetterPrinter | None = None,
    ) -> None:  # fmt: skip
        """printer: unless given, one of its own."""
        known = Adapters(adapters, find_line)
        # Its processes start with the first letter.
        self._printer = printer or LetterPrinter(1, fonts=resources.settings.fonts)
        queue = _NoticeQueue(resources, self._printer, known)
        super().__init__(resources, known, queue, slots=_SLOTS, beat_seconds=beat_seconds)

    async def close(self) -> None:
        """Letters are printed by processes of its own."""
        await super().close()
        await self._printer.close()


class _NoticeQueue:
    """A `sending.sender.Queue`."""

    def __init__(self, resources: Resources, printer: LetterPrinter, adapters: Adapters) -> None:
        self._resources = resources
        self._printer = printer
        self._adapters = adapters

    async def begin(
        self, running: Sequence[HandedOverNotice], room: int
    ) -> Begun[HandedOverNotice]:
        """Those that are due, all marked as handed over; some are settled without a call."""
        lease, now = begin_lease(self._resources), self._resources.clock.now()
        busy = Counter(each.leased.by_channel for each in running)
        async with self._resources.database.transaction() as tx:
            leased = await lease_notices(
                tx, now, lease, busy, channel_limit=_CHANNEL_SLOTS, limit=room
            )
            merchants = await _load_merchants(tx, leased)
            uncalled = await self._find_uncalled(tx, merchants, leased)
            for each in leased:
                if each.notice_id in uncalled:
                    settlement = uncalled[each.notice_id]
                    merchant = merchants[each.merchant_id]
                    line = _find_line(merchant, each) if each.was_handed_over else None
                    await _record(tx, each, lease.lease_id, settlement, line=line, now=now)
        handed_over = [
            HandedOverNotice(
                self._resources,
                self._printer,
                merchant=merchants[each.merchant_id],
                leased=each,
                lease_id=lease.lease_id,
                layout=choose_layout(self._adapters.find(merchants[each.merchant_id], "LETTER")),
            )
            for each in leased
            if each.notice_id not in uncalled
        ]
        return Begun(handed_over, len(uncalled))

    async def hand_over(self, key: HandedOverNotice) -> AsyncIterator[HandedOverNotice]:
        yield key

    async def _find_uncalled(
        self, tx: Connection, merchants: Mapping[int, Merchant], leased: Sequence[LeasedNotice]
    ) -> dict[UUID, Settlement]:
        """Those whose channel is not called, with what becomes of them."""
        found = {}
        reasons = await load_reasons_of_many(
            tx, self._resources.keys, [_find_address(each) for each in leased]
        )
        for each in leased:
            # It may have been suppressed since it was planned.
            reason = reasons.get(_find_address(each))
            channel = each.notice.addressee.channel
            adapter = self._adapters.find(merchants[each.merchant_id], channel)
            standing = Standing(
                was_handed_over=each.was_handed_over,
                is_suppressed=reason is not None and heeds_suppression(each.notice.kind, reason),
                is_repeatable=adapter.is_repeatable if adapter else None,
                expires_at=each.expires_at,
            )
            settlement = decide_no_call(standing, self._resources.clock.now())
            if settlement is not None:
                found[each.notice_id] = settlement
        return found


async def _record(
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


async def _load_merchants(tx: Connection, leased: Sequence[LeasedNotice]) -> dict[int, Merchant]:
    found = {}
    for merchant_id in {each.merchant_id for each in leased}:
        merchant = await load_merchant(tx, merchant_id)
        assert merchant is not None
        found[merchant_id] = merchant
    return found


def _find_line(merchant: Merchant, each: LeasedNotice) -> str | None:
    """None: its channel is no line of the installation file."""
    setup = merchant.configuration.channels.get(each.notice.addressee.channel)
    return setup.line if setup else None


def _find_address(each: LeasedNotice) -> tuple[int, Channel, str]:
    """As suppressions are asked about it."""
    addressee = each.notice.addressee
    return each.merchant_id, addressee.channel, addressee.recipient
