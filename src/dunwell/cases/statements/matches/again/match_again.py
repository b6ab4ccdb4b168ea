"""Match open transactions again: those of a statement, a single one, and the recent ones of an
account after each import. In the meantime, a claim may have been created, or an error corrected. A
decision of a person is never changed."""

from datetime import timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.matches.again.store import renew_recent, renew_statement
from dunwell.cases.statements.matches.match_transactions import SET_SIZE, match_transactions
from dunwell.cases.statements.matches.store import BankTransaction, load_transactions
from dunwell.platform.database.database import raise_if_outage
from dunwell.platform.errors import InvalidState, NotFound

# A payment can arrive before its claim was created, but hardly earlier than this.
RETRIED_FOR = timedelta(days=30)
log = structlog.get_logger(__name__)


class MatchingFailed(InvalidState):
    """An error prevented the matching of a transaction. The log has the error."""


def can_match_again(transaction: BankTransaction) -> bool:
    """Return whether the rules may decide about an open transaction: no person has decided about
    it, and it does not resemble another entry."""
    is_open = transaction.state == "OPEN" and not transaction.is_decided
    return is_open and transaction.resembles_on is None


async def match_statement_again(work: Work, account: str, statement_hash: bytes) -> int:
    """Let the worker match the open transactions of a statement again. Return how many there
    are."""
    work.require(Right.RECORD_MONEY)
    count = await renew_statement(work.tx, work.merchant_id, account, statement_hash)
    if count:
        await save_audit(
            work, "bankStatement.matchAgain", f"bankAccount:{account}",
            after={"transactions": count},
        )  # fmt: skip
    return count


async def match_recent_again(work: Work, account: str) -> int:
    """Let the worker match the recent open transactions of an account again, except for those that
    made the matching fail. Return how many there are."""
    work.require(Right.RECORD_MONEY)
    today = work.now.astimezone(ZoneInfo(work.merchant.configuration.timezone)).date()
    since = today - RETRIED_FOR
    return await renew_recent(work.tx, work.merchant_id, account, since, limit=SET_SIZE)


async def match_entry_again(work: Work, entry_id: UUID, number: int) -> bool:
    """Match one open transaction again. Return whether it was matched.

    Raises NotFound, InvalidState if a person has to decide about the transaction, and
    MatchingFailed if an unexpected error occurs.
    """
    work.require(Right.RECORD_MONEY)
    key = (entry_id, number)
    transaction = (await load_transactions(work.tx, work.merchant_id, [key])).get(key)
    if transaction is None:
        raise NotFound("There is no such transaction.")
    if not can_match_again(transaction):
        raise InvalidState("A person decides about this transaction.", state=transaction.state)
    try:
        matched = await match_transactions(work, transaction.account, [transaction], before="OPEN")
    except Exception as error:
        raise_if_outage(error)
        log.exception(
            "bank transaction cannot be matched",
            merchant_id=work.merchant_id, entry_id=str(entry_id), number=number,
        )  # fmt: skip
        raise MatchingFailed("This transaction cannot be matched.", state="OPEN") from error
    return matched > 0
