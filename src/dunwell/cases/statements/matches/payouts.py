"""Sums that payment providers pay to the merchant's account. They are known before the statement
comes, so that they are not taken for a debtor's payment."""

from collections.abc import Sequence

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.provider import Payout
from dunwell.cases.statements.matches.store import insert_payouts


async def record_payouts(work: Work, provider: str, listed: Sequence[Payout]) -> int:
    """Store the payouts that a provider's account lists, and return how many are new. A payout
    that takes money back from the merchant is left to staff."""
    work.require(Right.RECORD_MONEY)
    positive = [each for each in listed if each.amount_cents > 0]
    new = await insert_payouts(work.tx, work.merchant_id, provider, positive)
    if new:
        await save_audit(
            work, "payout.record", f"paymentProvider:{provider}", after={"payouts": new}
        )
    return new
