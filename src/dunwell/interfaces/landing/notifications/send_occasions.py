"""Send debtors the notices that are due (`contact.notices.occasions.notify_debtor`), each occasion
once.

A notice is sent by e-mail, else by SMS, else by letter if the occasion justifies the cost of a
letter. The next channel is used if there is no address, if the address is suppressed, if the
channel refuses the notice, or if the notice is later reported as undelivered. A notice that may
have been sent is not sent by another channel. A debtor who cannot be reached finds the information
on the claim's page.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.disputes.answer_dispute import set_hold_after_response
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import load_modality_facts
from dunwell.cases.modalities.sweep_modalities import is_notice_still_true, set_hold_after_break
from dunwell.contact.escalation.due_claim import has_postal_address
from dunwell.contact.messages.identities import render_postal_address
from dunwell.contact.messages.letters.address import render_address
from dunwell.contact.notices.notice import (
    Addressee,
    DebtorNotice,
    NoticeLimitReached,
    list_remaining_channels,
)
from dunwell.contact.notices.occasions.facts import (
    BEING_SENT,
    DisputeAnswerFacts,
    LetterFacts,
    OccasionFacts,
    OccasionOutcome,
    PlanBrokenFacts,
    is_worth_letter,
)
from dunwell.contact.notices.occasions.store import (
    Debtor,
    NoticeOccasion,
    OccasionState,
    end_occasion,
    list_due_occasions,
    load_debtor,
    lock_occasion,
    postpone_occasion,
    save_occasion_notice,
)
from dunwell.contact.notices.send_notice import send_notice
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.notifications.writer import LetterParts, NoticeWriter
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources
from dunwell.platform.text.codes import find_timezone_country

OCCASION_POLL_SECONDS = 1.0
_BATCH_SIZE = 100
# What to do once a notice was sent or is being sent, by the name of the occasion.
_FOLLOW_UPS: Mapping[str, Callable[[Work, int, str, OccasionOutcome], Awaitable[None]]] = {
    DisputeAnswerFacts.template: set_hold_after_response,
    PlanBrokenFacts.template: set_hold_after_break,
}

log = structlog.get_logger(__name__)


async def send_due_occasions(resources: Resources, writer: NoticeWriter) -> int:
    """Send the notices of due occasions. Return the number of occasions that were handled."""
    async with resources.database.connection() as connection:
        found = await list_due_occasions(connection, resources.clock.now(), _BATCH_SIZE)
    for occasion in found:
        try:
            await _handle_occasion(resources, occasion, writer)
        except Unavailable:
            raise
        except Exception as error:
            # A notice that cannot be sent must not be tried forever. The claim's page shows the
            # information.
            log.exception(
                "cannot send notice", merchant_id=occasion.merchant_id, error=type(error).__name__
            )
            await _handle_occasion(resources, occasion, None)
    return len(found)


async def _handle_occasion(
    resources: Resources, occasion: NoticeOccasion, writer: NoticeWriter | None
) -> None:
    """Send the notice by the next channel, or end the occasion if there is none. Without a writer
    the occasion is ended in any case."""
    async with resources.database.transaction() as tx:
        # Lock the claim before all other rows, as everywhere.
        claim = await lock_claim(tx, occasion.merchant_id, occasion.claim_id)
        merchant = await load_merchant(tx, occasion.merchant_id)
        state = await lock_occasion(tx, occasion, resources.clock.now())
        if claim is None or merchant is None or state is None:
            return
        work = Work.open(resources, tx, merchant, SYSTEM)
        sent = state.sent
        must_send = sent is None or sent.state == "FAILED"
        must_send &= await is_notice_still_true(work, claim, occasion.subject, state.facts)
        if (
            must_send
            and writer
            and await _send_by_next_channel(
                work, resources, writer=writer, occasion=occasion, state=state
            )
        ):
            return
        response_sent_at = work.now if sent is not None and sent.state == "ACCEPTED" else None
        await end_occasion(tx, occasion, work.real_now)
        await _run_follow_up(work, occasion, OccasionOutcome(response_sent_at))


async def _send_by_next_channel(
    work: Work,
    resources: Resources,
    writer: NoticeWriter,
    occasion: NoticeOccasion,
    state: OccasionState,
) -> bool:
    """Send the notice by the first remaining channel that accepts it. Return False if there is
    none."""
    debtor = await load_debtor(work.tx, work.merchant_id, occasion.claim_id)
    for addressee in _list_addressees(work, occasion, state, debtor):
        if addressee.channel == "LETTER":
            notice = await _write_letter(
                work, writer, addressee=addressee, facts=state.facts, debtor=debtor
            )
        else:
            notice = writer.write(work.merchant, addressee, state.facts)
        sent = await send_notice(work, resources.keys, notice)
        if isinstance(sent, NoticeLimitReached):
            await postpone_occasion(work.tx, occasion, sent.again_at)
            return True
        if isinstance(sent, UUID):
            await save_occasion_notice(work.tx, occasion, sent)
            await _run_follow_up(work, occasion, BEING_SENT)
            return True
    return False


def _list_addressees(
    work: Work, occasion: NoticeOccasion, state: OccasionState, debtor: Debtor
) -> Iterator[Addressee]:
    """List the addressees of the channels that were not tried yet and have an address."""
    postal = debtor.address
    postal_line = render_postal_address(postal) if postal and has_postal_address(postal) else None
    addresses = {"EMAIL": debtor.email, "SMS": debtor.mobile_number, "LETTER": postal_line}
    language = debtor.language or work.merchant.configuration.language
    tried_channel = None if state.sent is None else state.sent.channel
    for channel in list_remaining_channels(
        tried_channel, is_worth_letter=is_worth_letter(state.facts)
    ):
        address = addresses[channel]
        if address is not None:
            yield Addressee(occasion.claim_id, channel, address, language)


async def _write_letter(
    work: Work, writer: NoticeWriter, addressee: Addressee, facts: OccasionFacts, debtor: Debtor
) -> DebtorNotice:
    """Write the letter with the current outstanding amount. The claim is locked, so no payment is
    recorded meanwhile."""
    configuration = work.merchant.configuration
    window = render_address(
        debtor.name,
        debtor.address or {},
        find_timezone_country(configuration.timezone),
        configuration.language,
    )
    assert isinstance(facts, LetterFacts), "only such facts are worth a letter"
    claim = await lock_claim_of_merchant(work, addressee.claim_id)
    owed = await load_modality_facts(work.tx, work.merchant_id, addressee.claim_id)
    parts = LetterParts(
        window,
        debtor.name,
        local_date(work.now, configuration.timezone),
        outstanding_cents=owed.outstanding_cents,
        currency=claim.currency,
    )
    return writer.write_letter(work.merchant, addressee, facts, parts)


async def _run_follow_up(work: Work, occasion: NoticeOccasion, outcome: OccasionOutcome) -> None:
    follow_up = _FOLLOW_UPS.get(occasion.name)
    if follow_up is not None:
        await follow_up(work, occasion.claim_id, occasion.subject, outcome)
