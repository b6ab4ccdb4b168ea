"""Match the new transactions of bank accounts, a set at a time. A transaction that makes the
matching fail does not hold up the others: it is left to a person."""

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.cases.statements.matches.match_transactions import (
    match_new_transactions,
    match_transactions,
)
from dunwell.cases.statements.matches.store import (
    BankTransaction,
    list_accounts_with_new,
    list_new_transactions,
    load_transactions,
    save_problem,
)
from dunwell.platform.database.database import Connection, raise_if_outage
from dunwell.platform.resources import Resources

MATCH_SECONDS = 2.0
_ACCOUNTS_PER_TURN = 50
# Few enough that an import keeps its lease, which it renews after each turn.
_SINGLE_PER_TURN = 100
log = structlog.get_logger(__name__)


async def match_all(resources: Resources) -> int:
    """Match the next set of up to 50 accounts that have new transactions. Return how many
    transactions there were."""
    async with resources.database.connection() as connection:
        waiting = await list_accounts_with_new(connection, _ACCOUNTS_PER_TURN)
    done = 0
    for merchant_id, account in waiting:
        done += await match_next_set(resources, merchant_id, account)
    return done


async def match_next_set(resources: Resources, merchant_id: int, account: str) -> int:
    """Match the next new transactions of an account together. If that fails, match the first of
    them one by one. Return how many transactions there were. Raises Unavailable if the database
    fails; later transactions then stay new."""
    try:
        async with resources.database.transaction() as tx:
            work = await _open_work(resources, tx, merchant_id)
            return await match_new_transactions(work, account)
    except Exception as error:
        raise_if_outage(error)
        log.exception("bank transactions not matched together", merchant_id=merchant_id)
    async with resources.database.connection() as connection:
        new = await list_new_transactions(connection, merchant_id, account, _SINGLE_PER_TURN)
    for each in new:
        await _match_one(resources, merchant_id, each)
    return len(new)


async def _match_one(resources: Resources, merchant_id: int, transaction: BankTransaction) -> None:
    """Match one transaction. If that fails, open it for a person."""
    try:
        async with resources.database.transaction() as tx:
            work = await _open_work(resources, tx, merchant_id)
            found = await load_transactions(tx, merchant_id, [transaction.key])
            new = [each for each in found.values() if each.state == "NEW"]
            await match_transactions(work, transaction.account, new)
    except Exception as error:
        raise_if_outage(error)
        log.exception(
            "bank transaction cannot be matched",
            merchant_id=merchant_id,
            entry_id=str(transaction.entry_id),
            number=transaction.number,
        )
        await _leave_to_person(resources, merchant_id, transaction)


async def _leave_to_person(
    resources: Resources, merchant_id: int, transaction: BankTransaction
) -> None:
    async with resources.database.transaction() as tx:
        work = await _open_work(resources, tx, merchant_id)
        problem = build_problem("MATCHING_FAILED")
        # Another worker may have matched the transaction.
        if await save_problem(tx, merchant_id, transaction.key, problem):
            await save_audit(
                work, "bankStatement.match", f"bankAccount:{transaction.account}",
                after={"seen": 1, "matched": 0, "failed": 1},
            )  # fmt: skip


async def _open_work(resources: Resources, tx: Connection, merchant_id: int) -> Work:
    merchant = await load_merchant(tx, merchant_id)
    assert merchant is not None
    return Work.open(resources, tx, merchant, SYSTEM)
