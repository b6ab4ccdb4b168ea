"""Send notices one by one, so that a hanging call delays no other notice and a merchant's slow
channel uses only its own slots."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.messages.letters.printer import (
    LetterPrinter,
    ScriptMissing,
    Unprintable,
    describe_missing_scripts,
)
from dunwell.contact.messages.letters.rendering import add_brand
from dunwell.contact.messages.letters.sheet import encode_sheet
from dunwell.contact.messages.suppression import (
    ClaimKey,
    list_stopped_claims,
    load_suppression_reasons_of_merchants,
)
from dunwell.contact.messages.templates.creditors import build_creditor, choose_sender
from dunwell.contact.notices.notice import (
    DueNotice,
    NoticeSettlement,
    decide_no_call,
    decide_settlement,
    has_one_click_unsubscribe,
    respects_contact_stop,
    respects_suppression,
)
from dunwell.contact.notices.notice_codes import unmask_notice
from dunwell.contact.notices.notice_outcomes import increment_unsent
from dunwell.contact.notices.store import (
    LeasedNotice,
    lease_notices,
    renew_notice,
    replan_uncalled_notices,
    save_notice_outcome,
)
from dunwell.contact.sending.adapters import Adapters, FindProvider, find_no_provider
from dunwell.contact.sending.batches.letter_folder import choose_layout
from dunwell.contact.sending.channel import (
    ChannelAdapter,
    ChannelAnswer,
    Message,
    MessageFile,
    Permanent,
    Temporary,
    Uncalled,
)
from dunwell.contact.sending.logo import find_logo
from dunwell.contact.sending.references import build_reference
from dunwell.contact.sending.refused_addresses import suppress_refused_addresses
from dunwell.contact.sending.sender import RunningSet, Sender, StartedSets, retry_briefly
from dunwell.core.files.upload import PDF
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.errors import Unavailable
from dunwell.platform.heartbeat import HEARTBEAT_SECONDS, start_lease
from dunwell.platform.resources import Resources

_PRINTER_RETRY_SECONDS = 60

log = structlog.get_logger(__name__)


class HandedOverNotice:
    """Implements `sending.sender.HandedOverPart` for a single notice."""

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
        self.answered: Sequence[tuple[LeasedNotice, ChannelAnswer]] = ()

    @property
    def items(self) -> Sequence[LeasedNotice]:
        return (self.leased,)

    @asynccontextmanager
    async def compose(self, item: LeasedNotice) -> AsyncIterator[Message | Temporary | Permanent]:
        """Fill in the link or code, and print letters. Printing again gives the same PDF."""
        creditor, notice = build_creditor(self.merchant), item.notice
        keys = self._resources.keys
        addressee = notice.addressee

        def unmask(text: str) -> str:
            return unmask_notice(
                keys, notice.kind, notice_id=item.notice_id, text=text, key_version=item.key_version
            )

        try:
            pdf = await self._print(item)
        except ScriptMissing as error:
            yield Permanent(describe_missing_scripts(error))
            return
        except (Unprintable, OSError) as error:
            log.exception("not printed", notice_id=str(item.notice_id), error=type(error).__name__)
            yield Temporary(_PRINTER_RETRY_SECONDS, "The letter could not be printed.")
            return
        sheet = notice.sheet
        yield Message(
            communication_id=item.notice_id,
            merchant_id=self.merchant.merchant_id,
            claim_id=addressee.claim_id,
            channel=addressee.channel,
            recipient=addressee.recipient if sheet is None else "\n".join(sheet.address),
            sender=choose_sender(self.merchant, addressee.channel, creditor),
            sender_name=creditor.legal_name,
            reply_to=creditor.email if addressee.channel == "EMAIL" else None,
            language=addressee.language,
            subject=unmask(notice.subject) if notice.subject else None,
            body_text=unmask(notice.body_text),
            body_html=unmask(notice.body_html) if notice.body_html else None,
            created_at=item.dated_at,
            logo=find_logo(self.merchant, notice.body_html),
            document=pdf,
            is_sandbox=self.merchant.is_sandbox,
            unsubscribe_url=self._find_unsubscribe_url(item),
        )

    def _find_unsubscribe_url(self, item: LeasedNotice) -> str | None:
        notice, resources = item.notice, self._resources
        if notice.addressee.channel != "EMAIL" or not has_one_click_unsubscribe(notice.kind):
            return None
        reference = build_reference(resources.keys, item.merchant_id, item.notice_id)
        return f"{resources.settings.public_url}/u/{reference}"

    async def _print(self, item: LeasedNotice) -> MessageFile | None:
        """Print the sheet of a letter; return None for other notices. Raises Unprintable,
        OSError.
        """
        notice, brand = item.notice, self.merchant.configuration.brand
        if notice.sheet is None:
            return None
        sheet = encode_sheet(add_brand(notice.sheet, brand, self._layout)).decode()
        unmasked = unmask_notice(
            self._resources.keys,
            notice.kind,
            notice_id=item.notice_id,
            text=sheet,
            key_version=item.key_version,
        )
        pdf = await self._printer.print_sheet(unmasked.encode())
        return MessageFile(f"{item.notice_id}.pdf", PDF, pdf)

    async def renew_lease(self, tx: Connection, until: datetime) -> Collection[UUID]:
        is_held = await renew_notice(tx, self.leased, self.lease.lease_id, until)
        return [self.leased.notice_id] if is_held else []

    async def record_answers(
        self, tx: Connection, answers: Sequence[tuple[LeasedNotice, ChannelAnswer]]
    ) -> int:
        [(leased, answer)] = answers
        now = self._resources.clock.now()
        if isinstance(answer, Uncalled):
            # A notice that was handed over before is leased again when its lease expires.
            await replan_uncalled_notices(tx, [leased], self.lease.lease_id, now)
            return 0
        settlement = decide_settlement(
            answer, attempts=leased.attempts, expires_at=leased.expires_at, now=now
        )
        provider = find_provider_of(self.merchant, leased)
        settled = await record_notice(
            tx, leased, self.lease.lease_id, settlement, provider=provider, now=now
        )
        if isinstance(answer, Temporary):
            log.warning(
                "notice delayed",
                notice_id=str(leased.notice_id),
                merchant_id=leased.merchant_id,
                reason=answer.reason,
            )
        if isinstance(answer, Permanent):
            addressee = leased.notice.addressee
            work = Work.open(self._resources, tx, self.merchant, SYSTEM)
            refusal = (addressee.channel, addressee.recipient, answer)
            await suppress_refused_addresses(work, self._resources.keys, [refusal])
        return settled


async def record_notice(
    tx: Connection, leased: LeasedNotice, lease_id: UUID, settlement: NoticeSettlement,
    *, provider: str | None, now: datetime,
) -> int:  # fmt: skip
    """Record the outcome of a notice. Return 1, or 0 if another worker has taken over its lease."""
    is_saved = await save_notice_outcome(
        tx, leased, lease_id=lease_id, settlement=settlement, provider=provider, now=now
    )
    state, notice = settlement.state, leased.notice
    if is_saved and state in ("FAILED", "UNKNOWN"):
        increment_unsent(notice.kind, notice.addressee.channel, state)
        log.warning(
            "notice not sent",
            notice_id=str(leased.notice_id),
            merchant_id=leased.merchant_id,
            state=state,
        )
    return int(is_saved)


def find_provider_of(merchant: Merchant, leased: LeasedNotice) -> str | None:
    """Return the delivery provider's name; None if the channel does not use a provider of the
    installation file."""
    setup = merchant.configuration.channels.get(leased.notice.addressee.channel)
    return setup.provider if setup else None


_SLOTS = 64
# The slots for one channel of a merchant.
_CHANNEL_SLOTS = 8


class NoticeSender(Sender[HandedOverNotice]):
    """Sends due notices of all merchants."""

    def __init__(
        self, resources: Resources, adapters: Collection[ChannelAdapter],
        *, find_provider: FindProvider = find_no_provider,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        printer: LetterPrinter | None = None,
    ) -> None:  # fmt: skip
        """`printer` is the letter printer to use, None to create one. The sender closes it."""
        channel_adapters = Adapters(adapters, find_provider)
        # A printer starts its processes with the first letter.
        self._printer = printer or LetterPrinter(1, fonts=resources.settings.fonts)
        queue = _NoticeQueue(resources, self._printer, channel_adapters)
        super().__init__(
            resources, channel_adapters, queue, slots=_SLOTS, heartbeat_seconds=heartbeat_seconds
        )

    async def close(self) -> None:
        """Let running notices finish, and end the processes that print letters."""
        await super().close()
        await self._printer.close()


class _NoticeQueue:
    """Implements `sending.sender.SendQueue` for notices. Each notice is a separate set, and is the
    key of its set."""

    def __init__(self, resources: Resources, printer: LetterPrinter, adapters: Adapters) -> None:
        self._resources = resources
        self._printer = printer
        self._adapters = adapters

    async def start_sets(
        self, running: Sequence[RunningSet[HandedOverNotice]], free_slots: int
    ) -> StartedSets[HandedOverNotice]:
        """Lease due notices and mark them as handed over. Some get their outcome without a call."""
        lease, now = start_lease(self._resources), self._resources.clock.now()
        busy = Counter(each.key.leased.merchant_channel for each in running)
        leased: Sequence[LeasedNotice] = ()
        try:
            async with self._resources.database.transaction() as tx:
                leased = await lease_notices(
                    tx, now, lease, busy, channel_limit=_CHANNEL_SLOTS, limit=free_slots
                )
                merchants = await _load_merchants(tx, leased)
                uncalled = await self._list_uncalled(tx, merchants, leased)
                for each in leased:
                    if each.notice_id in uncalled:
                        settlement = uncalled[each.notice_id]
                        merchant = merchants[each.merchant_id]
                        provider = (
                            find_provider_of(merchant, each) if each.was_handed_over else None
                        )
                        await record_notice(
                            tx, each, lease.lease_id, settlement, provider=provider, now=now
                        )
        except (Unavailable, asyncio.CancelledError):
            # It is not known whether the transaction was committed, but no channel was called.
            await retry_briefly(lambda: self._undo_hand_over(leased, lease))
            raise
        handed_over = [
            HandedOverNotice(
                self._resources,
                self._printer,
                merchant=merchants[each.merchant_id],
                leased=each,
                lease=lease,
                layout=choose_layout(self._adapters.find(merchants[each.merchant_id], "LETTER")),
            )
            for each in leased
            if each.notice_id not in uncalled
        ]
        return StartedSets(handed_over, len(uncalled))

    async def _undo_hand_over(self, leased: Sequence[LeasedNotice], lease: Lease) -> None:
        async with self._resources.database.transaction() as tx:
            now = self._resources.clock.now()
            await replan_uncalled_notices(tx, leased, lease.lease_id, now)

    async def hand_over(self, key: HandedOverNotice) -> AsyncIterator[HandedOverNotice]:
        yield key

    async def _list_uncalled(
        self, tx: Connection, merchants: Mapping[int, Merchant], leased: Sequence[LeasedNotice]
    ) -> dict[UUID, NoticeSettlement]:
        """Return the outcomes of the notices whose channel must not be called."""
        settlements = {}
        reasons = await load_suppression_reasons_of_merchants(
            tx, self._resources.keys, [_build_address_key(each) for each in leased]
        )
        stopped = await list_stopped_claims(
            tx,
            self._resources.keys,
            {_build_claim_key(each) for each in leased if respects_contact_stop(each.notice.kind)},
        )
        for each in leased:
            # The address may have been suppressed since planning, or the debtor reported dead.
            reason = reasons.get(_build_address_key(each))
            is_stopped = (
                respects_contact_stop(each.notice.kind) and _build_claim_key(each) in stopped
            )
            channel = each.notice.addressee.channel
            adapter = self._adapters.find(merchants[each.merchant_id], channel)
            due_notice = DueNotice(
                was_handed_over=each.was_handed_over,
                is_suppressed=is_stopped
                or (reason is not None and respects_suppression(each.notice.kind, reason)),
                is_repeatable=adapter.is_repeatable if adapter else None,
                expires_at=each.expires_at,
            )
            settlement = decide_no_call(due_notice, self._resources.clock.now())
            if settlement is not None:
                settlements[each.notice_id] = settlement
        return settlements


async def _load_merchants(tx: Connection, leased: Sequence[LeasedNotice]) -> dict[int, Merchant]:
    merchants = {}
    for merchant_id in {each.merchant_id for each in leased}:
        merchant = await load_merchant(tx, merchant_id)
        assert merchant is not None
        merchants[merchant_id] = merchant
    return merchants


def _build_claim_key(leased: LeasedNotice) -> ClaimKey:
    return leased.merchant_id, leased.notice.addressee.claim_id


def _build_address_key(leased: LeasedNotice) -> tuple[int, Channel, str]:
    """Return the address in the form in which suppressions are looked up."""
    addressee = leased.notice.addressee
    return leased.merchant_id, addressee.channel, addressee.recipient
