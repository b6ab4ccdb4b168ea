"""Process delivery reports: match them with their messages, and ask channels about messages of
unknown outcome."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.escalation.contacts.outcomes.record_outcomes import resolve_unknown_contact
from dunwell.contact.escalation.contacts.outcomes.settlement import (
    LateFallback,
    decide_late_failure,
)
from dunwell.contact.escalation.contacts.outcomes.store import (
    ContactWithClaim,
    lock_contact,
    save_fallback,
    save_late_failure,
)
from dunwell.contact.escalation.prepared_workflow import get_prepared_workflow
from dunwell.contact.escalation.reports.store import (
    ReportedMessage,
    has_failed_before,
    list_merchants_with_unknown_messages,
    list_unknown_messages,
    load_reported_messages,
    lock_report,
    save_deliveries,
)
from dunwell.contact.escalation.schedule import WorkflowPosition
from dunwell.contact.escalation.store import load_tried_channels
from dunwell.contact.escalation.usable_channels import load_usable_channels
from dunwell.contact.messages.guards.store import free_contact_days
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.notices.notice_outcomes import report_notice_failure
from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.channel import QueryableChannel
from dunwell.contact.sending.report import ReportOutcome, decide_report
from dunwell.contact.sending.store import (
    WaitingReport,
    lock_due_reports,
    save_report_outcome,
    save_report_outcomes,
    sweep_reports,
)
from dunwell.core.claims.states import ACTIVE
from dunwell.core.workflows.store import load_newest
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import InvalidState, NotFound, Unavailable
from dunwell.platform.resources import Resources


async def report_failure(work: Work, keys: KeyRing, communication_id: UUID, reason: str) -> None:
    """Record that an accepted contact did not arrive and plan the fallback. A contact in any other
    state stays unchanged, because reports can be duplicated or late. Raises NotFound."""
    work.require(Right.OPERATE)
    locked = await lock_contact(work.tx, work.merchant_id, communication_id)
    if locked is None:
        raise NotFound(f"There is no communication {communication_id}.")
    if locked.state != "ACCEPTED":
        return
    contact = locked.contact
    await save_late_failure(
        work.tx, work.merchant_id, communication_id, reason,
        now=work.now, entry_id=work.ids.new(work.now),
    )  # fmt: skip
    # The message did not reach the debtor, so the fallback may be sent on the same day.
    await free_contact_days(work.tx, work.merchant_id, [communication_id])
    if locked.is_of_current_run and locked.claim.status in ACTIVE:
        decision = await _decide_fallback(work, keys, locked)
        if decision is not None:
            await save_fallback(
                work.tx, work.merchant_id, contact, decision,
                now=work.now, communication_id=work.ids.new(work.now),
            )  # fmt: skip
    await save_audit(work, "contact.fail", f"claim:{contact.claim_id}", channel=contact.channel)


async def _decide_fallback(
    work: Work, keys: KeyRing, locked: ContactWithClaim
) -> LateFallback | None:
    contact, claim = locked.contact, locked.claim
    versions = await load_newest(work.tx, work.merchant_id, {contact.workflow_key})
    version = versions[contact.workflow_key]
    workflow = get_prepared_workflow(version, work.merchant.configuration)
    step = workflow.find_contact_step(contact.step_id)
    if step is None:
        return None
    contact_id = contact.communication_id
    usable = await load_usable_channels(work.tx, keys, work.merchant, {contact_id: contact})
    position = WorkflowPosition(claim.next_step_id, claim.due_at)
    tried = await load_tried_channels(work.tx, work.merchant_id, [contact_id])
    return decide_late_failure(
        workflow, position, failed=step, usable_channels=usable[contact_id], tried=tried[contact_id]
    )


# How often the worker processes reports.
REPORTS_SECONDS = 1.0
REPORTS_KEPT_FOR = timedelta(days=90)
_SET_SIZE = 500
_RETRY_AFTER = timedelta(seconds=5)
_RETRY_AFTER_FAULT = timedelta(minutes=5)
# If the channel's own answer has not been recorded by then, it never will be.
_GIVE_UP_AFTER = timedelta(days=1)

log = structlog.get_logger(__name__)


async def process_reports(resources: Resources) -> int:
    """Process due reports and return how many were processed or delayed."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        waiting = await lock_due_reports(tx, now, _SET_SIZE)
        to_apply = await _process_simple_reports(tx, waiting, now)
    for each in to_apply:
        try:
            await _process_report(resources, each)
        except Unavailable:
            raise
        except Exception:  # A report that cannot be processed must not block the others.
            log.exception("report not processed", report_id=str(each.report_id))
            await _postpone_report(resources, each)
    return len(waiting)


async def _process_simple_reports(
    tx: Connection, waiting: Sequence[WaitingReport], now: datetime
) -> list[WaitingReport]:
    """Record or postpone the reports that change neither a claim nor a notice. Return the others,
    which stay due."""
    references = {each.reference for each in waiting if each.reference is not None}
    messages = await load_reported_messages(tx, references)
    settled: list[tuple[WaitingReport, str]] = []
    postponed: list[WaitingReport] = []
    delivered: set[ReportedMessage] = set()
    to_apply: list[WaitingReport] = []
    for each in waiting:
        message = messages.get(each.reference) if each.reference else None
        # Anyone who has received a message knows its reference. A report by another provider is
        # therefore treated as unmatched.
        if message is None or message.provider not in (None, each.provider):
            settled.append((each, "UNMATCHED"))
            continue
        outcome = decide_report(each.state, message.state, is_delivered=message.is_delivered)
        if outcome is ReportOutcome.NOTE_DELIVERY:
            delivered.add(message)
        if outcome in (ReportOutcome.FAIL, ReportOutcome.SETTLE_AS_SENT):
            to_apply.append(each)
        elif outcome is ReportOutcome.WAIT and now - each.received_at < _GIVE_UP_AFTER:
            postponed.append(each)
        else:
            # A report that has waited for a day is left to a person.
            is_given_up = outcome is ReportOutcome.WAIT
            settled.append((each, "UNMATCHED" if is_given_up else outcome.value))
    await save_deliveries(tx, delivered, now)
    await save_report_outcomes(tx, settled, real_now=now)
    await save_report_outcomes(
        tx, [(each, "WAITING") for each in postponed], real_now=now, due_at=now + _RETRY_AFTER
    )
    return to_apply


async def _process_report(resources: Resources, waiting: WaitingReport) -> None:
    """Process one report that changes a claim or a notice."""
    reference, now = waiting.reference, resources.clock.now()
    assert reference is not None
    async with resources.database.transaction() as tx:
        if not await lock_report(tx, waiting.report_id):
            return
        merchant = await load_merchant(tx, reference.merchant_id)
        message = (await load_reported_messages(tx, {reference})).get(reference)
        if merchant is None or message is None:
            await save_report_outcome(tx, waiting.report_id, "UNMATCHED", real_now=now, due_at=None)
            return
        work = Work.open(resources, tx, merchant, SYSTEM)
        outcome = await _apply_report(work, resources, waiting, message)
        due_at = now + _RETRY_AFTER if outcome is ReportOutcome.WAIT else None
        await save_report_outcome(tx, waiting.report_id, outcome.value, real_now=now, due_at=due_at)


async def _postpone_report(resources: Resources, waiting: WaitingReport) -> None:
    """Process the report again later, or after a day leave it to an operator."""
    now = resources.clock.now()
    is_over = now - waiting.received_at >= _GIVE_UP_AFTER
    async with resources.database.transaction() as tx:
        if await lock_report(tx, waiting.report_id):
            await save_report_outcome(
                tx, waiting.report_id, "UNMATCHED" if is_over else "WAITING",
                real_now=now, due_at=None if is_over else now + _RETRY_AFTER_FAULT,
            )  # fmt: skip


async def _apply_report(
    work: Work, resources: Resources, waiting: WaitingReport, message: ReportedMessage
) -> ReportOutcome:
    """Apply a report to its message and return what was done. WAIT means that the report has to be
    processed again later."""
    contact_id = message.reference.communication_id
    outcome = decide_report(waiting.state, message.state, is_delivered=message.is_delivered)
    if outcome is ReportOutcome.SETTLE_AS_SENT:
        if message.is_notice:
            return ReportOutcome.IGNORE
        await resolve_unknown_contact(work, contact_id, was_sent=True)
        # The message counts as accepted now; continue with the report.
        outcome = decide_report(waiting.state, "ACCEPTED", is_delivered=False)
        if outcome is ReportOutcome.NOTE_DELIVERY:
            await save_deliveries(work.tx, {message}, work.real_now)
            return ReportOutcome.SETTLE_AS_SENT
    if outcome is not ReportOutcome.FAIL:
        return outcome
    if message.address and await _is_address_unreachable(work, waiting, message):
        # Suppress the address before the fallback channel is chosen.
        await suppress(
            work, resources.keys, channel=message.channel, address=message.address, reason="BOUNCE"
        )
    if waiting.cause == "ABOUT_US":
        log.error("sender refused by receiver", channel=message.channel, reason=waiting.reason)
    try:
        if message.is_notice:
            await report_notice_failure(work, contact_id, waiting.reason)
        else:
            await report_failure(work, resources.keys, contact_id, waiting.reason)
    except InvalidState:
        return ReportOutcome.WAIT
    except NotFound:
        return ReportOutcome.IGNORE
    return ReportOutcome.FAIL


async def _is_address_unreachable(
    work: Work, waiting: WaitingReport, message: ReportedMessage
) -> bool:
    """Return whether the address is unreachable. A report that could be forged counts only if
    another message to the debtor has failed as well."""
    if waiting.cause != "ADDRESS":
        return False
    return waiting.is_authenticated or await has_failed_before(work.tx, message.reference)


async def sweep_old_reports(resources: Resources) -> int:
    """Delete reports that are older than `REPORTS_KEPT_FOR`."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        return await sweep_reports(tx, now - REPORTS_KEPT_FOR, _SET_SIZE)


# How often the worker asks channels about messages of unknown outcome.
QUERY_SECONDS = 30.0
# A worker that called the channel may still receive its answer.
_MIN_AGE = timedelta(minutes=2)
_PAGE_SIZE = 200


async def query_unknown_outcomes(resources: Resources, adapters: Adapters) -> int:
    """Ask channels about messages of unknown outcome. Record the outcomes that they know and return
    their number."""
    async with resources.database.connection() as connection:
        merchant_ids = await list_merchants_with_unknown_messages(connection)
    settled = 0
    for merchant_id in merchant_ids:
        async with resources.database.connection() as connection:
            merchant = await load_merchant(connection, merchant_id)
        if merchant is not None:
            for channel, queryable in adapters.list_queryable(merchant).items():
                settled += await _query_channel(resources, merchant, channel, queryable)
    return settled


async def _query_channel(
    resources: Resources, merchant: Merchant, channel: Channel, queryable: QueryableChannel
) -> int:
    waiting = await _list_unknown(resources, merchant, channel)
    if not waiting:
        return 0
    try:
        known = await queryable.look_up_outcomes(waiting)
    except (OSError, Unavailable) as error:
        log.warning("channel not queried", channel=channel, error=type(error).__name__)
        return 0
    for communication_id, was_sent in known.items():
        async with resources.database.transaction() as tx:
            work = Work.open(resources, tx, merchant, SYSTEM)
            try:
                await resolve_unknown_contact(work, communication_id, was_sent=was_sent)
            except InvalidState:
                log.info("already resolved", communication_id=str(communication_id))
    return len(known)


async def _list_unknown(
    resources: Resources, merchant: Merchant, channel: Channel
) -> Sequence[UUID]:
    """Return a page of the channel's unknown messages, the oldest first."""
    before = merchant.now(resources.clock) - _MIN_AGE
    async with resources.database.connection() as connection:
        return await list_unknown_messages(
            connection, merchant.merchant_id, channel=channel, before=before, limit=_PAGE_SIZE
        )
