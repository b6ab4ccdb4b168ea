"""Open a provider's page for a mandate, fetch what became of the request, and check the mandate
until it ends.

The state of a mandate is fetched from the provider, never taken from a notification. A notification
and the debtor's return only make Dunwell ask earlier than the periodic check, which uses the same
function. So notifications that are duplicated, late, reordered, forged or lost change nothing.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import SYSTEM, Actor
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.direct_debit.debit_values import (
    Mandate,
    MandateEndReason,
    MandateState,
    compute_expiry,
)
from dunwell.cases.direct_debit.mandates import (
    close_mandate,
    load_plan_for_mandate,
    publish_mandate_state,
)
from dunwell.cases.direct_debit.order import CURRENCY
from dunwell.cases.direct_debit.provider_records.store import (
    ProviderMandateState,
    StoredProviderMandate,
    find_open_provider_mandate,
    find_provider_mandate,
    give_up_mandates,
    insert_provider_mandate,
    lease_mandates,
    list_accounts_with_mandates,
    save_mandate_checkout,
    save_provider_mandate,
)
from dunwell.cases.direct_debit.store import find_mandate, insert_mandate
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.payments.mandate_provider import (
    MandateProvider,
    MandateRequest,
    ProviderMandate,
    ProviderMandateStatus,
    find_mandate_provider,
    find_offered_mandate_provider,
)
from dunwell.cases.payments.provider import (
    PaymentProviderKeyRejected,
    PaymentProviders,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.requests.account_rounds import AccountRounds, BatchResult
from dunwell.cases.payments.requests.provider_calls import report_provider_failures
from dunwell.cases.payments.requests.store import PendingAccount
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.states import ACTIVE
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import InvalidState, NotFound, Refusal
from dunwell.platform.resources import Resources

# How often the worker looks for mandates to check.
MANDATE_SECONDS = 2.0
_LEASE = timedelta(minutes=1)
_CALLS_PER_ACCOUNT = 5
# How often a mandate is checked while the debtor is on the provider's page, and after it was given.
_OPEN_CHECK = timedelta(minutes=10)
_ACTIVE_CHECK = timedelta(days=1)
# How long after the request a mandate that the debtor has not given is checked.
_OPEN_CHECKED_FOR = timedelta(days=30)
_END_REASONS: Mapping[ProviderMandateStatus, MandateEndReason] = {
    ProviderMandateStatus.CANCELLED: MandateEndReason.REVOKED,
    ProviderMandateStatus.FAILED: MandateEndReason.RETURNED,
    ProviderMandateStatus.EXPIRED: MandateEndReason.UNUSED,
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MandatePageRequest:
    """What is needed to open the provider's page for a mandate."""

    modality_id: UUID
    # Where the debtor returns to.
    return_url: str
    language: str


async def open_mandate_page(
    resources: Resources, providers: PaymentProviders, merchant: Merchant, actor: Actor,
    claim_id: int, page: MandatePageRequest,
) -> str:  # fmt: skip
    """Return the address of the provider's page on which the debtor gives a mandate for a plan.

    Raises NotFound, InvalidState if no mandate can be given, and PaymentProviderUnavailable. After
    the latter, the call can be repeated and leads to the same mandate.
    """
    check_right(actor, Right.CHANGE_CLAIMS)
    provider = _choose_provider(resources, providers, merchant)
    async with resources.database.transaction() as tx:
        work = Work.open(resources, tx, merchant, actor)
        stored = await _find_or_insert(work, claim_id, page, provider)
    legal = merchant.configuration.legal
    creditor = merchant.name if legal is None else legal.name
    request = MandateRequest(
        merchant_id=merchant.merchant_id,
        request_id=stored.mandate_id,
        currency=CURRENCY,
        description=creditor,
        return_url=page.return_url,
        language=page.language,
    )
    async with report_provider_failures(provider.name, merchant.merchant_id):
        checkout = await provider.open_mandate(request)
    async with resources.database.transaction() as tx:
        await save_mandate_checkout(
            tx, merchant.merchant_id, stored.mandate_id, checkout_id=checkout.checkout_id,
            next_check_at=resources.clock.now() + _OPEN_CHECK,
        )  # fmt: skip
    return checkout.url


def _choose_provider(
    resources: Resources, providers: PaymentProviders, merchant: Merchant
) -> MandateProvider:
    name = merchant.configuration.payment.direct_debit_provider
    provider = find_offered_mandate_provider(providers, name)
    if provider is None:
        raise InvalidState("This plan cannot be paid by direct debit.", state="NOT_AVAILABLE")
    if provider.moves_money and merchant.is_sandbox:
        raise InvalidState("A sandbox merchant moves no money.", state="SANDBOX")
    if not (provider.moves_money or merchant.is_sandbox or resources.settings.is_development):
        raise InvalidState("This provider only simulates payments.", state="LIVE")
    return provider


async def _find_or_insert(
    work: Work, claim_id: int, page: MandatePageRequest, provider: MandateProvider
) -> StoredProviderMandate:
    """Return the mandate that was requested for the plan and is not given yet, or insert a new one.
    Raises NotFound and InvalidState."""
    claim = await lock_claim_of_merchant(work, claim_id)
    if claim.status not in ACTIVE:
        raise InvalidState("This mandate can no longer be given. Reload the page.", state="CHANGED")
    await load_plan_for_mandate(work, claim_id, page.modality_id)
    requested = await find_open_provider_mandate(work.tx, work.merchant_id, page.modality_id)
    if requested is not None:
        return requested
    stored = StoredProviderMandate(
        mandate_id=work.ids.new(work.now),
        claim_id=claim_id,
        modality_id=page.modality_id,
        provider=provider.name,
        provider_name=provider.kind,
        state=ProviderMandateState.OPEN,
        checkout_id=None,
        provider_mandate_id=None,
        language=page.language,
        actor_kind=work.actor.kind,
        actor_id=work.actor.actor_id,
        created_at=work.real_now,
    )
    await insert_provider_mandate(
        work.tx, work.merchant_id, stored, next_check_at=work.real_now + _OPEN_CHECK
    )
    await save_audit(
        work, "mandate.open", f"claim:{claim_id}",
        before=None, after={"state": stored.state, "provider": provider.name},
        mandateId=str(stored.mandate_id),
    )  # fmt: skip
    return stored


async def settle_open_mandate(
    resources: Resources, providers: PaymentProviders, merchant_id: int, modality_id: UUID
) -> None:
    """Fetch what became of the mandate that was requested for a plan, if the debtor has not given
    it yet. Raises PaymentProviderUnavailable."""
    async with resources.database.connection() as connection:
        requested = await find_open_provider_mandate(connection, merchant_id, modality_id)
    if requested is not None:
        await settle_mandate(resources, providers, merchant_id, requested.mandate_id)


class MandateChecks:
    """The mandates of each account that are due for a check; implements `AccountWork`."""

    batch_size = _CALLS_PER_ACCOUNT

    def __init__(self, resources: Resources, providers: PaymentProviders) -> None:
        self._resources = resources
        self._providers = providers

    async def list_accounts(self, tx: Connection) -> Sequence[PendingAccount]:
        return await list_accounts_with_mandates(tx)

    async def give_up(self, tx: Connection, provider: str) -> None:
        await give_up_mandates(tx, provider)

    async def run_batch(self, provider: str, limit: int) -> BatchResult:
        async with self._resources.database.transaction() as tx:
            leased = await lease_mandates(
                tx, provider, self._resources.clock.now(), duration=_LEASE, limit=limit
            )
        answered = await asyncio.gather(*(self._check(*key) for key in leased))
        return BatchResult(len(leased), answered.count(False))

    async def _check(self, merchant_id: int, mandate_id: UUID) -> bool:
        """Check one mandate. Return False if its provider gave no usable answer. After any failure,
        the mandate is due again when its lease ends."""
        try:
            await settle_mandate(self._resources, self._providers, merchant_id, mandate_id)
        except NotFound:
            # The mandate was deleted with its claim.
            return True
        except Refusal as refusal:
            log.warning("mandate not checked", mandate_id=str(mandate_id), error=refusal.type)
            return False
        except Exception:
            log.exception("mandate check failed", mandate_id=str(mandate_id))
        return True


def open_mandate_checks(resources: Resources, providers: PaymentProviders) -> AccountRounds:
    """Return the rounds that check the mandates of each account."""
    return AccountRounds(resources, providers, MandateChecks(resources, providers))


async def settle_mandate(
    resources: Resources, providers: PaymentProviders, merchant_id: int, mandate_id: UUID
) -> None:
    """Fetch a mandate from its provider and record its state. A mandate that has ended here is
    cancelled at the provider first.

    Raises NotFound, and PaymentProviderUnavailable, after which nothing has changed here.
    """
    async with resources.database.connection() as connection:
        stored = await find_provider_mandate(connection, merchant_id, mandate_id)
    if stored is None:
        raise _build_not_found(mandate_id)
    provider = find_mandate_provider(providers, stored.provider)
    if provider is None:
        raise PaymentProviderUnavailable("The payment provider is not installed here.")
    answer = await _ask(provider, merchant_id, stored)
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        assert merchant is not None, "the mandate belongs to the merchant"
        work = Work.open(resources, tx, merchant, SYSTEM)
        await lock_claim_of_merchant(work, stored.claim_id)
        current = await find_provider_mandate(tx, merchant_id, mandate_id)
        # If another answer was recorded in the meantime, this one may be older, and is ignored.
        if current is not None and current.state is stored.state:
            await _record(work, current, answer, is_closed=provider.is_closed)


async def _ask(
    provider: MandateProvider, merchant_id: int, stored: StoredProviderMandate
) -> ProviderMandate | None:
    """Ask the provider for the mandate, and return the answer. Return None if the account is closed
    and its key no longer works, so that nothing more is known of the mandate."""
    try:
        async with report_provider_failures(provider.name, merchant_id):
            if stored.provider_mandate_id is None:
                if stored.checkout_id is None:
                    return ProviderMandate(ProviderMandateStatus.OPEN)
                return await provider.fetch_mandate_request(stored.checkout_id)
            if stored.state is ProviderMandateState.CANCELLING:
                await provider.cancel_mandate(stored.provider_mandate_id)
            return await provider.fetch_mandate(stored.provider_mandate_id)
    except PaymentProviderKeyRejected:
        if not provider.is_closed:
            raise
        return None


async def _record(
    work: Work, stored: StoredProviderMandate, answer: ProviderMandate | None, *, is_closed: bool
) -> None:
    """Record the provider's answer. `is_closed` is true if the provider's account is closed: then
    no mandate stays active. The claim must be locked."""
    if answer is None:
        await _end(work, stored, MandateEndReason.ACCOUNT_CLOSED)
    elif answer.status in _END_REASONS:
        await _end(work, stored, _END_REASONS[answer.status])
    elif stored.state is ProviderMandateState.OPEN:
        await _record_open(work, stored, answer, is_closed=is_closed)
    else:
        mandate = await find_mandate(work.tx, work.merchant_id, stored.mandate_id)
        is_over = mandate is None or mandate.state is not MandateState.ACTIVE
        if is_closed and mandate is not None and not is_over:
            await close_mandate(work, mandate, MandateEndReason.ACCOUNT_CLOSED)
            is_over = True
        # A mandate that has ended here is cancelled at the provider with the next call.
        await save_provider_mandate(
            work.tx, work.merchant_id, stored,
            ProviderMandateState.CANCELLING if is_over else ProviderMandateState.ACTIVE,
            next_check_at=work.real_now if is_over else work.real_now + _ACTIVE_CHECK,
        )  # fmt: skip


async def _record_open(
    work: Work, stored: StoredProviderMandate, answer: ProviderMandate, *, is_closed: bool
) -> None:
    if answer.status is not ProviderMandateStatus.ACTIVE or answer.mandate_id is None:
        is_over = work.real_now >= stored.created_at + _OPEN_CHECKED_FOR
        state = ProviderMandateState.ENDED if is_over else ProviderMandateState.OPEN
        next_check_at = None if is_over else work.real_now + _OPEN_CHECK
        await save_provider_mandate(
            work.tx, work.merchant_id, stored, state, next_check_at=next_check_at
        )
        return
    is_given = not is_closed and await _insert_given(work, stored, answer)
    # A mandate for a plan that has ended in the meantime, or at an account that is closed, is
    # cancelled at once.
    await save_provider_mandate(
        work.tx, work.merchant_id, stored,
        ProviderMandateState.ACTIVE if is_given else ProviderMandateState.CANCELLING,
        provider_mandate_id=answer.mandate_id,
        next_check_at=work.real_now + _ACTIVE_CHECK if is_given else work.real_now,
    )  # fmt: skip


async def _insert_given(work: Work, stored: StoredProviderMandate, answer: ProviderMandate) -> bool:
    """Store a mandate that was given. Return False if the plan can no longer have it."""
    try:
        await load_plan_for_mandate(work, stored.claim_id, stored.modality_id)
    except (InvalidState, NotFound):
        return False
    signed_on = local_date(work.now, work.merchant.configuration.timezone)
    mandate = Mandate(
        mandate_id=stored.mandate_id,
        claim_id=stored.claim_id,
        modality_id=stored.modality_id,
        creditor_id=stored.provider,
        reference=(answer.reference or stored.mandate_id.hex)[:35],
        account_sealed=None,
        account_shown=answer.account_shown or "",
        text="",
        language=stored.language,
        signed_at=work.now,
        signed_on=signed_on,
        actor_kind=stored.actor_kind,
        actor_id=stored.actor_id,
        state=MandateState.ACTIVE,
        expires_on=compute_expiry(signed_on),
        provider=stored.provider,
        provider_name=stored.provider_name,
    )
    await insert_mandate(work.tx, work.merchant_id, mandate, check_at=work.now)
    await publish_mandate_state(work, mandate)
    await save_audit(
        work, "mandate.sign", f"claim:{stored.claim_id}",
        after={"state": mandate.state, "reference": mandate.reference},
        mandateId=str(mandate.mandate_id), modalityId=str(mandate.modality_id),
    )  # fmt: skip
    return True


async def _end(work: Work, stored: StoredProviderMandate, reason: MandateEndReason) -> None:
    """Record that the mandate has ended at the provider."""
    mandate = await find_mandate(work.tx, work.merchant_id, stored.mandate_id)
    if mandate is not None and mandate.state is MandateState.ACTIVE:
        await close_mandate(work, mandate, reason)
    await save_provider_mandate(work.tx, work.merchant_id, stored, ProviderMandateState.ENDED)


def _build_not_found(mandate_id: UUID) -> NotFound:
    return NotFound(f"There is no mandate {mandate_id}.")
