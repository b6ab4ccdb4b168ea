"""Plan the collection of each instalment, and notify the debtor before each one.

A worker checks each active mandate once a day. The debtor's notification is stored in the
transaction that makes the collection releasable, so the bank debits no account without one. If a
provider collects, the debit is ordered from it, and the provider notifies the debtor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import DirectDebitSettings
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.direct_debit.debit_values import (
    RESULT_WITHIN,
    CancelReason,
    Collection,
    CollectionState,
    Mandate,
    MandateEndReason,
    build_end_to_end_id,
    compute_collection_day,
    compute_last_release_day,
    compute_notice_day,
    compute_order_day,
)
from dunwell.cases.direct_debit.mandates import close_mandate
from dunwell.cases.direct_debit.provider_records.store import ask_to_cancel_debit, order_debit
from dunwell.cases.direct_debit.store import (
    insert_collection,
    is_account_closed,
    list_disputed_claims,
    list_merchants_to_check,
    list_plan_collections,
    lock_due_mandates,
    save_cancelled,
    save_next_mandate_check,
    save_prenotified,
)
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.modality import Modality, ModalityState
from dunwell.cases.modalities.progress import compute_morning, local_date
from dunwell.cases.modalities.store import (
    list_live_modalities,
    save_awaited_day,
    schedule_check_now,
)
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.requests.store import StoredPaymentRequest, insert_request
from dunwell.contact.notices.occasions.facts import DebitFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.states import ACTIVE
from dunwell.platform.database.database import raise_if_outage, savepoint
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

# How often the worker looks for mandates to check.
PLAN_SECONDS = 5.0
_SET_SIZE = 200
_ONE_DAY = timedelta(days=1)
# When a mandate whose check failed is checked again.
_RETRY_AFTER = timedelta(hours=1)
_UNSETTLED = (CollectionState.PLANNED, CollectionState.RELEASED, CollectionState.DELIVERED)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """An active mandate, its plan, and the plan's collections by instalment: those of the mandate,
    and those of earlier mandates that were not cancelled."""

    mandate: Mandate
    modality: Modality
    reference_number: str
    collections: Sequence[Collection]
    is_disputed: bool
    # Whether the merchant has closed the bank account to which debits are credited.
    is_account_closed: bool = False


@dataclass(frozen=True, slots=True)
class PlannedSteps:
    """The steps that are due for a plan on a day."""

    insert: Sequence[Instalment] = ()
    notify: Sequence[Collection] = ()
    cancel: Sequence[tuple[Collection, CancelReason]] = ()


def decide_steps(
    modality: Modality,
    collections: Sequence[Collection],
    settings: DirectDebitSettings,
    today: date,
) -> PlannedSteps:
    """Decide which collections are planned, which ones the debtor is notified of, and which ones
    are cancelled on a day. `collections` are those of the plan, as in `CheckedPlan`. An instalment
    that has a collection is not planned again."""
    known = {each.instalment: each for each in collections}
    insert, notify, cancel = [], [], []
    for instalment in modality.schedule:
        collection = known.get(instalment.number)
        if collection is None:
            if not instalment.is_paid:
                insert.append(instalment)
        elif collection.state is CollectionState.PLANNED:
            if instalment.is_paid:
                cancel.append((collection, CancelReason.PAID))
            elif today >= compute_notice_day(instalment.due_on, settings.pre_notification_days):
                days = settings.pre_notification_days
                collected_on = compute_collection_day(instalment.due_on, today, days)
                notify.append(
                    replace(
                        collection, collected_on=collected_on, amount_cents=instalment.left_cents
                    )
                )
        elif collection.state is CollectionState.PRENOTIFIED:
            last_day = compute_last_release_day(collection.collected_on, settings.lead_days)
            if instalment.is_paid:
                cancel.append((collection, CancelReason.PAID))
            elif today > last_day:
                cancel.append((collection, CancelReason.NOT_RELEASED))
    return PlannedSteps(insert, notify, cancel)


def hold_back_steps(steps: PlannedSteps, collections: Sequence[Collection]) -> PlannedSteps:
    """Return the steps while the merchant's bank account is closed: debits are held back instead of
    being announced or released."""
    cancelled_ids = {each.collection_id for each, _ in steps.cancel}
    announced = [
        each
        for each in collections
        if each.state is CollectionState.PRENOTIFIED and each.collection_id not in cancelled_ids
    ]
    held_back = [(each, CancelReason.HELD_BACK) for each in (*steps.notify, *announced)]
    return PlannedSteps(steps.insert, (), [*steps.cancel, *held_back])


@dataclass(frozen=True, slots=True)
class ProviderSteps:
    """The steps that are due on a day for a plan whose debits a provider collects."""

    insert: Sequence[Instalment] = ()
    order: Sequence[Collection] = ()
    cancel: Sequence[tuple[Collection, CancelReason]] = ()


def decide_provider_steps(
    modality: Modality, collections: Sequence[Collection], today: date, *, is_disputed: bool
) -> ProviderSteps:
    """Decide which debits are planned, ordered from the provider, and cancelled on a day.
    `collections` are those of the plan, as in `CheckedPlan`. While the claim is disputed, nothing
    is ordered, and debits that were ordered are cancelled."""
    known = {each.instalment: each for each in collections}
    insert, order, cancel = [], [], []
    for instalment in modality.schedule:
        collection = known.get(instalment.number)
        if collection is None:
            if not instalment.is_paid:
                insert.append(instalment)
        elif collection.state in _UNSETTLED and instalment.is_paid:
            cancel.append((collection, CancelReason.PAID))
        elif collection.state is CollectionState.PLANNED:
            if not is_disputed and today >= compute_order_day(instalment.due_on):
                order.append(replace(collection, amount_cents=instalment.left_cents))
        elif collection.state in _UNSETTLED and is_disputed:
            cancel.append((collection, CancelReason.DISPUTED))
    return ProviderSteps(insert, order, cancel)


async def plan_collections(resources: Resources, merchant_id: int | None = None) -> int:
    """Check one batch of due mandates of each merchant, or of one. Return how many were checked."""
    async with resources.database.connection() as connection:
        now = resources.clock.now()
        merchant_ids = await list_merchants_to_check(connection, now, merchant_id)
    checked = 0
    for owner_id in merchant_ids:
        try:
            checked += await _plan_for_merchant(resources, owner_id)
        except Unavailable:
            raise
        except Exception as error:
            # A failure at one merchant must not stop the debits of others.
            log.exception("debits not planned", merchant_id=owner_id, error=type(error).__name__)
    return checked


async def _plan_for_merchant(resources: Resources, merchant_id: int) -> int:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        if merchant is None:
            return 0
        work = Work.open(resources, tx, merchant, SYSTEM)
        mandates = await lock_due_mandates(tx, merchant_id, work.now, _SET_SIZE)
        claim_ids = [each.claim_id for each in mandates]
        live = {
            modality.modality_id: (modality, reference, status)
            for modality, reference, status in await list_live_modalities(
                tx, merchant_id, claim_ids
            )
        }
        collections = await list_plan_collections(
            tx, merchant_id, [each.modality_id for each in mandates]
        )
        disputed = await list_disputed_claims(tx, merchant_id, claim_ids, work.now)
        settings = merchant.configuration.payment.direct_debit
        is_closed = settings is not None and await is_account_closed(
            tx, merchant_id, settings.account.iban
        )
        for mandate in mandates:
            modality, reference, status = live.get(mandate.modality_id, (None, "", None))
            plan = None
            if modality is not None and status in ACTIVE:
                plan = CheckedPlan(
                    mandate,
                    modality,
                    reference,
                    [each for each in collections if _is_of_plan(each, mandate)],
                    is_disputed=mandate.claim_id in disputed,
                    is_account_closed=is_closed,
                )
            await _check_mandate(work, mandate, plan)
    return len(mandates)


async def _check_mandate(work: Work, mandate: Mandate, plan: CheckedPlan | None) -> None:
    """Check a mandate, or close it if its plan has ended (`plan` is None). If that fails, nothing
    of it is stored, the other mandates are checked all the same, and this one is checked again
    later."""
    try:
        async with savepoint(work.tx):
            if plan is None:
                await close_mandate(work, mandate, MandateEndReason.PLAN_ENDED)
            else:
                await _check_plan(work, plan)
    except Exception as error:
        raise_if_outage(error)
        log.exception(
            "mandate not checked", mandate_id=str(mandate.mandate_id), error=type(error).__name__
        )
        retry_at = work.now + _RETRY_AFTER
        await save_next_mandate_check(work.tx, work.merchant_id, mandate.mandate_id, retry_at)


def _is_of_plan(collection: Collection, mandate: Mandate) -> bool:
    """Return whether the collection is one of `CheckedPlan.collections`."""
    is_live = collection.state is not CollectionState.CANCELLED
    is_same_plan = collection.modality_id == mandate.modality_id
    return is_same_plan and (is_live or collection.mandate_id == mandate.mandate_id)


async def _check_plan(work: Work, plan: CheckedPlan) -> None:
    mandate, zone = plan.mandate, work.merchant.configuration.timezone
    today = local_date(work.now, zone)
    if today > mandate.expires_on:
        await close_mandate(work, mandate, MandateEndReason.UNUSED)
        return
    settings = work.merchant.configuration.payment.direct_debit
    if mandate.provider is not None:
        if plan.modality.state is ModalityState.APPROVED and await _check_at_provider(work, plan):
            return
    elif settings is not None and plan.modality.state is ModalityState.APPROVED:
        steps = decide_steps(plan.modality, plan.collections, settings, today)
        if plan.is_account_closed:
            steps = hold_back_steps(steps, plan.collections)
        for instalment in steps.insert:
            await _insert(work, plan, instalment)
        for collection in steps.notify:
            await _prenotify(work, plan, collection)
        for collection, reason in steps.cancel:
            await cancel_collection(work, collection, reason)
        if steps.insert:
            # The new collections may be due for their notification.
            await save_next_mandate_check(work.tx, work.merchant_id, mandate.mandate_id, work.now)
            return
    next_check_at = compute_morning(today + _ONE_DAY, zone)
    await save_next_mandate_check(work.tx, work.merchant_id, mandate.mandate_id, next_check_at)


async def _check_at_provider(work: Work, plan: CheckedPlan) -> bool:
    """Plan, order and cancel the debits that a provider collects, as far as they are due. Return
    whether some are new; then the mandate is checked again at once."""
    today = local_date(work.now, work.merchant.configuration.timezone)
    steps = decide_provider_steps(
        plan.modality, plan.collections, today, is_disputed=plan.is_disputed
    )
    for instalment in steps.insert:
        await _insert(work, plan, instalment)
    for collection in steps.order:
        await _order(work, plan, collection)
    for collection, reason in steps.cancel:
        if collection.state is CollectionState.PLANNED:
            await cancel_collection(work, collection, reason)
        else:
            await ask_to_cancel_debit(
                work.tx, work.merchant_id, collection.collection_id, reason=reason,
                now=work.real_now,
            )  # fmt: skip
    if steps.insert:
        await save_next_mandate_check(work.tx, work.merchant_id, plan.mandate.mandate_id, work.now)
    return bool(steps.insert)


async def _order(work: Work, plan: CheckedPlan, collection: Collection) -> None:
    """Let the worker order a debit from the provider. The payment request of the debit has the same
    id, so the debit is booked like any other payment. Until the result of the debit can be known,
    its instalment does not count as missed."""
    mandate = plan.mandate
    assert mandate.provider is not None, "a provider collects with this mandate"
    assert mandate.provider_name is not None, "the provider and its name are set together"
    await order_debit(
        work.tx, work.merchant_id, collection.collection_id, provider=mandate.provider,
        amount_cents=collection.amount_cents, now=work.now, real_now=work.real_now,
    )  # fmt: skip
    request = StoredPaymentRequest(
        request_id=collection.collection_id,
        claim_id=collection.claim_id,
        provider=mandate.provider,
        provider_name=mandate.provider_name,
        amount_cents=collection.amount_cents,
        currency=collection.currency,
        reference=plan.reference_number,
        state=PaymentRequestState.COLLECTING,
        provider_reference=None,
        checkout_url=None,
        created_at=work.real_now,
        settled_at=None,
        checks=0,
    )
    await insert_request(work.tx, work.merchant_id, request, next_check_at=None)
    await save_awaited_day(
        work.tx, work.merchant_id, collection.modality_id, collection.instalment,
        awaited_on=collection.collected_on + RESULT_WITHIN,
    )  # fmt: skip
    await save_audit(
        work, "debit.order", f"claim:{collection.claim_id}",
        before={"state": CollectionState.PLANNED},
        after={"state": CollectionState.RELEASED, "amount": collection.amount_cents},
        collectionId=str(collection.collection_id),
    )  # fmt: skip


async def _insert(work: Work, plan: CheckedPlan, instalment: Instalment) -> None:
    collection_id = work.ids.new(work.now)
    collection = Collection(
        collection_id=collection_id,
        mandate_id=plan.mandate.mandate_id,
        claim_id=plan.mandate.claim_id,
        modality_id=plan.mandate.modality_id,
        instalment=instalment.number,
        due_on=instalment.due_on,
        collected_on=compute_collection_day(instalment.due_on, instalment.due_on, 0),
        amount_cents=instalment.left_cents,
        currency=plan.modality.currency,
        state=CollectionState.PLANNED,
        end_to_end_id=build_end_to_end_id(collection_id),
        provider=plan.mandate.provider,
    )
    await insert_collection(work.tx, work.merchant_id, collection, work.now)
    await save_awaited_day(
        work.tx, work.merchant_id, collection.modality_id, collection.instalment,
        awaited_on=instalment.due_on,
    )  # fmt: skip
    await save_audit(
        work, "debit.plan", f"claim:{collection.claim_id}",
        after={"state": collection.state, "amount": collection.amount_cents},
        collectionId=str(collection_id), instalment=instalment.number,
    )  # fmt: skip


async def _prenotify(work: Work, plan: CheckedPlan, collection: Collection) -> None:
    """Notify the debtor of a collection. Until the result of the debit can be known, its instalment
    does not count as missed."""
    await save_prenotified(work.tx, work.merchant_id, collection, work.now)
    await save_awaited_day(
        work.tx, work.merchant_id, collection.modality_id, collection.instalment,
        awaited_on=collection.collected_on + RESULT_WITHIN,
    )  # fmt: skip
    facts = DebitFacts(
        reference_number=plan.reference_number,
        currency=collection.currency,
        amount_cents=collection.amount_cents,
        collected_on=collection.collected_on,
        mandate_reference=plan.mandate.reference,
        creditor_id=plan.mandate.creditor_id,
        account=plan.mandate.account_shown,
    )
    await notify_debtor(work, collection.claim_id, str(collection.collection_id), facts)
    await save_audit(
        work, "debit.notify", f"claim:{collection.claim_id}",
        before={"state": CollectionState.PLANNED},
        after={"state": CollectionState.PRENOTIFIED, "amount": collection.amount_cents},
        collectionId=str(collection.collection_id),
    )  # fmt: skip


async def cancel_collection(work: Work, collection: Collection, reason: CancelReason) -> None:
    """Cancel a collection that the bank does not have. The debtor has to pay the instalment as
    without a mandate, with days of grace from today at the earliest. The claim must be locked."""
    await save_cancelled(
        work.tx, work.merchant_id, collection.collection_id, reason=reason, now=work.now
    )
    today = local_date(work.now, work.merchant.configuration.timezone)
    awaited_on: date | None = max(today, collection.due_on)
    if reason is CancelReason.HELD_BACK and today < collection.due_on:
        # The debtor is reminded of the instalment, as without a mandate.
        awaited_on = None
    await save_awaited_day(
        work.tx, work.merchant_id, collection.modality_id, collection.instalment,
        awaited_on=awaited_on,
    )  # fmt: skip
    await schedule_check_now(work.tx, work.merchant_id, collection.claim_id, work.now)
    await save_audit(
        work, "debit.cancel", f"claim:{collection.claim_id}",
        before={"state": collection.state},
        after={"state": CollectionState.CANCELLED, "reason": reason},
        collectionId=str(collection.collection_id),
    )  # fmt: skip
