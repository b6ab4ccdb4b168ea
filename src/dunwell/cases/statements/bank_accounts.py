"""The bank accounts of a merchant to which debtors transfer, and how their statements are read."""

import re
from collections.abc import Iterator
from dataclasses import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.formats.csv_mapping import CsvMapping, check_mapping
from dunwell.cases.statements.formats.statement import normalize_iban
from dunwell.cases.statements.store import (
    StatementAccount,
    list_accounts,
    save_account,
    save_closed,
)
from dunwell.platform.errors import EditConflict, Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.codes import is_iban
from dunwell.platform.text.differences import compute_revision
from dunwell.platform.text.texts import is_line

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_MAX_TOLERANCE_CENTS = 10_000
_MAX_AGE_BANKING_DAYS = 30


async def list_bank_accounts(work: Work) -> list[StatementAccount]:
    """Return the merchant's accounts by name."""
    work.require(Right.READ_CLAIMS)
    return list((await list_accounts(work.tx, work.merchant_id)).values())


def compute_account_revision(account: StatementAccount | None) -> str:
    """Return the revision of an account's settings. Without an account (None), return the revision
    of an account that does not exist."""
    return compute_revision(None if account is None else [_describe(account), account.csv_mapping])


async def save_bank_account(
    work: Work, account: StatementAccount, revision: str | None = None
) -> StatementAccount:
    """Create or change an account. A closed account stays closed. Raises ValidationError, and
    EditConflict if the account has changed since `revision`."""
    work.require(Right.CONFIGURE)
    iban = normalize_iban(account.iban) or ""
    known = await list_accounts(work.tx, work.merchant_id)
    if revision not in (None, compute_account_revision(known.get(account.account))):
        raise EditConflict("This account has been changed in the meantime.")
    other_ibans = {each.iban for each in known.values() if each.account != account.account}
    faults = [*_check_identity(account, iban, other_ibans), *_check_limits(account)]
    if faults:
        raise ValidationError(faults)
    if account.csv_mapping is not None:
        check_mapping(account.csv_mapping)
    before = known.get(account.account)
    saved = StatementAccount(
        account.account,
        iban,
        account.holder,
        account.csv_mapping,
        max_age_banking_days=account.max_age_banking_days,
        tolerance_cents=account.tolerance_cents,
        connection=account.connection,
        folder=account.folder,
        closed_at=None if before is None else before.closed_at,
    )
    await save_account(work.tx, work.merchant_id, saved, work.real_now)
    await save_audit(
        work, "bankAccount.save", f"bankAccount:{account.account}",
        before=None if before is None else _describe(before), after=_describe(saved),
    )  # fmt: skip
    return saved


async def save_csv_mapping(
    work: Work, account: str, mapping: CsvMapping, revision: str
) -> StatementAccount:
    """Save how the CSV files of an account are read. Raises NotFound, ValidationError and
    EditConflict."""
    work.require(Right.CONFIGURE)
    stored = (await list_accounts(work.tx, work.merchant_id)).get(account)
    if stored is None:
        raise NotFound(f"There is no bank account {account}.")
    return await save_bank_account(work, replace(stored, csv_mapping=mapping), revision)


async def close_bank_account(work: Work, account: str) -> StatementAccount:
    """Close an account: nothing is imported or collected through it, and no message waits for its
    statements, which stay readable. Raises NotFound, and InvalidState if the account is already
    closed."""
    work.require(Right.CONFIGURE)
    return await _save_closed(work, account, is_closed=True)


async def reopen_bank_account(work: Work, account: str) -> StatementAccount:
    """Reopen a closed account. Raises NotFound, and InvalidState if the account is already open."""
    work.require(Right.CONFIGURE)
    return await _save_closed(work, account, is_closed=False)


async def _save_closed(work: Work, account: str, *, is_closed: bool) -> StatementAccount:
    before = (await list_accounts(work.tx, work.merchant_id)).get(account)
    if before is None:
        raise NotFound(f"There is no bank account {account}.")
    closed_at = work.real_now if is_closed else None
    if not await save_closed(work.tx, work.merchant_id, account, closed_at):
        state = "CLOSED" if is_closed else "OPEN"
        raise InvalidState("This bank account is closed or open already.", state=state)
    after = replace(before, closed_at=closed_at)
    await save_audit(
        work, "bankAccount.close" if is_closed else "bankAccount.reopen", f"bankAccount:{account}",
        before=_describe(before), after=_describe(after),
    )  # fmt: skip
    return after


def _check_identity(account: StatementAccount, iban: str, other_ibans: set[str]) -> Iterator[Fault]:
    if _NAME.fullmatch(account.account) is None:
        message = "A name has at most 60 lower-case letters, digits, hyphens and underscores."
        yield Fault("/account", message, "WRONG_FORMAT")
    if not is_iban(iban):
        yield Fault("/iban", "The IBAN is not valid. Copy it again.", "WRONG_IBAN")
    elif iban in other_ibans:
        yield Fault("/iban", "Another account has this IBAN.", "TAKEN")
    if not account.holder.strip() or not is_line(account.holder):
        message = "Name the account holder exactly as the bank has it."
        yield Fault("/holder", message, "REQUIRED")


def _check_limits(account: StatementAccount) -> Iterator[Fault]:
    if not 0 <= account.tolerance_cents <= _MAX_TOLERANCE_CENTS:
        message = "The tolerance is between 0.00 and 100.00."
        yield Fault("/tolerance", message, "OUT_OF_RANGE")
    age = account.max_age_banking_days
    if age is not None and not 1 <= age <= _MAX_AGE_BANKING_DAYS:
        message = "Statements may be between 1 and 30 banking days old."
        yield Fault("/maxAgeBankingDays", message, "OUT_OF_RANGE")
    if ".." in account.folder.split("/") or account.folder.startswith("/"):
        message = "The folder is below the folder of the bank connection."
        yield Fault("/folder", message, "WRONG_FORMAT")


def _describe(account: StatementAccount) -> dict[str, object]:
    return {
        "iban": account.iban,
        "holder": account.holder,
        "hasCsvMapping": account.csv_mapping is not None,
        "maxAgeBankingDays": account.max_age_banking_days,
        "toleranceCents": account.tolerance_cents,
        "connection": account.connection,
        "folder": account.folder,
        "isClosed": account.closed_at is not None,
    }
