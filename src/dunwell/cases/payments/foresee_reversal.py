"""What a claim would owe were one of its payments taken back: shown before anybody does it."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.balancing import load_balance
from dunwell.cases.payments.store import load_payment
from dunwell.core.claims.access import check_claim
from dunwell.core.claims.balance import Balance
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import load_claim
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class Foreseen:
    """before, after: what is owed. reopens: the claim is paid now and its process would go on."""

    before: Balance
    after: Balance
    reopens: bool


async def foresee_reversal(work: Work, claim_id: int, payment_id: UUID) -> Foreseen:
    """Of one that is taken back already nothing would change. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        claim = await load_claim(work.tx, work.merchant_id, claim_id)
        payment = await load_payment(work.tx, work.merchant_id, claim_id, payment_id)
        if claim is None or payment is None:
            raise NotFound(f"There is no payment {payment_id}.")
        before = await load_balance(work, claim_id)
    taken = 0 if payment.reversed_at is not None else payment.amount_cents
    after = take_away(before, taken)
    reopens = claim.status is Status.COLLECTED and after.outstanding_cents > 0
    return Foreseen(before, after, reopens)


def take_away(balance: Balance, cents: int) -> Balance:
    """What was paid too much steps in first."""
    from_surplus = min(cents, balance.overpaid_cents)
    outstanding = balance.outstanding_cents + cents - from_surplus
    return Balance(balance.total_cents, outstanding, balance.overpaid_cents - from_surplus)
