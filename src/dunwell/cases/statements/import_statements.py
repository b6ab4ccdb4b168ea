"""Import files of a bank: store a file, read its statements in steps, cancel an import, and release
a statement whose sums are wrong.

Every step is one transaction, and each entry has a key by which it is recognised. An import that is
interrupted, cancelled or repeated duplicates nothing.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.statements.entries.record_entries import record_entries
from dunwell.cases.statements.entries.store import delete_pending_entries
from dunwell.cases.statements.entries.stored_entries import ArrivingEntry
from dunwell.cases.statements.formats.bank_file import MAX_FILE_BYTES, BankFile, parse_bank_file
from dunwell.cases.statements.formats.coded_text import CodedText
from dunwell.cases.statements.formats.entry_keys import EntryKey, compute_entry_keys
from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.merge_details import merge_details
from dunwell.cases.statements.formats.payment_status import PaymentStatusReport
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.cases.statements.formats.statement import (
    BankStatement,
    EntryStatus,
    StatementKind,
    is_statement_of,
    normalize_iban,
)
from dunwell.cases.statements.imported_file import (
    ENDED,
    FileState,
    ImportedFile,
    open_file,
    seal_file,
)
from dunwell.cases.statements.matches.again.match_again import match_recent_again
from dunwell.cases.statements.matches.debits.match_debits import record_status_reports
from dunwell.cases.statements.matches.match_sets import match_next_set
from dunwell.cases.statements.store import (
    ImportProgress,
    StatementAccount,
    StatementHead,
    cancel_file,
    end_file,
    find_content,
    find_file,
    insert_file,
    insert_statement,
    lease_file,
    list_accounts,
    list_files,
    list_statement_rows,
    release_statement_rows,
    save_progress,
    save_reported_until,
)
from dunwell.platform.crypto import DecryptionFailed, KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.database.sql import split_into_groups
from dunwell.platform.errors import Fault, InvalidState, NotFound, Refusal, ValidationError
from dunwell.platform.resources import Resources

IMPORT_SECONDS = 1.0
# How long one step may take before another worker continues.
_LEASE = timedelta(minutes=2)
_PAYER_PURPOSE = "payer account"
# The longest name of a file. Fetched files are recognised by their whole names.
_MAX_NAME = 255
_MAX_PROBLEMS = 200
_MAX_LISTED = 500

log = structlog.get_logger(__name__)


async def submit_file(
    work: Work, keys: KeyRing, account: str, name: str, content: bytes
) -> ImportedFile:
    """Store a file that a worker imports. `account` is the one whose CSV mapping applies; other
    formats name their account themselves.

    Raises NotFound if there is no such account, InvalidState if it is closed, and ValidationError
    if the file is empty or too large.
    """
    work.require(Right.RECORD_MONEY)
    accounts = await list_accounts(work.tx, work.merchant_id)
    if account not in accounts:
        raise NotFound(f"There is no bank account {account}.")
    if accounts[account].closed_at is not None:
        raise InvalidState(f"The bank account {account} is closed.", state="CLOSED")
    if not 0 < len(content) <= MAX_FILE_BYTES:
        # The code also covers an empty file; clients know it by this name.
        message = f"A file has between 1 and {MAX_FILE_BYTES:,} bytes."
        raise ValidationError([Fault("/file", message, "TOO_LARGE")])
    file_id = work.ids.new(work.real_now)
    file = ImportedFile(
        file_id=file_id,
        account=account,
        name=name.replace("\0", "")[:_MAX_NAME],
        size_bytes=len(content),
        state=FileState.WAITING,
        actor_kind=work.actor.kind,
        actor_id=work.actor.actor_id,
        created_at=work.real_now,
    )
    sealed = seal_file(keys, work.merchant_id, file_id, content)
    await insert_file(
        work.tx,
        work.merchant_id,
        file,
        (hashlib.sha256(content).digest(), sealed),
        due_at=work.real_now,
    )
    await save_audit(
        work, "bankFile.submit", f"bankFile:{file_id}",
        after={"account": account, "bytes": len(content)},
    )  # fmt: skip
    return file


async def get_file(work: Work, file_id: UUID) -> ImportedFile:
    """Return a file with the progress of its import. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    return await _get_file(work, file_id)


async def _get_file(work: Work, file_id: UUID) -> ImportedFile:
    file = await find_file(work.tx, work.merchant_id, file_id)
    if file is None:
        raise NotFound(f"There is no file {file_id}.")
    return file


async def list_imported_files(work: Work, *, limit: int = 50) -> list[ImportedFile]:
    """Return the newest files, whatever the state of their import."""
    work.require(Right.READ_CLAIMS)
    return await list_files(work.tx, work.merchant_id, limit)


async def cancel_import(work: Work, file_id: UUID) -> ImportedFile:
    """Cancel an import. The entries that were stored until then stay, and a new import of the file
    adds the others. Raises NotFound, and InvalidState if the import is over."""
    work.require(Right.RECORD_MONEY)
    file = await _get_file(work, file_id)
    if not await cancel_file(work.tx, work.merchant_id, file_id, work.real_now):
        raise InvalidState("The import is over.", state=str(file.state))
    await save_audit(
        work, "bankFile.cancel", f"bankFile:{file_id}",
        before={"state": file.state}, after={"state": FileState.CANCELLED},
    )  # fmt: skip
    return await _get_file(work, file_id)


async def list_held_statements(work: Work, account: str) -> list[Mapping[str, Any]]:
    """Return those of the newest 500 statements of an account that are held, the newest first."""
    work.require(Right.READ_CLAIMS)
    rows = await list_statement_rows(work.tx, work.merchant_id, account, _MAX_LISTED)
    return [each for each in rows if each["held_reason"] and not each["released_at"]]


async def release_statement(work: Work, account: str, statement_hash: bytes) -> None:
    """Let the entries of a held statement be matched, after a person has looked at it. Raises
    NotFound if it is not held."""
    work.require(Right.RECORD_MONEY)
    reason = await release_statement_rows(
        work.tx, work.merchant_id, account, statement_hash, now=work.real_now
    )
    if reason is None:
        raise NotFound("This statement is not held.")
    await save_audit(
        work, "bankStatement.release", f"bankAccount:{account}",
        before={"held": reason}, after={"held": None},
    )  # fmt: skip


async def import_next_file(resources: Resources) -> int:
    """Import the file that has waited longest. Return 0 if none waits."""
    now = resources.clock.now()
    lease = Lease(resources.ids.new(now), now + _LEASE)
    async with resources.database.transaction() as tx:
        found = await lease_file(tx, now, lease)
    if found is None:
        return 0
    await _FileImport(resources, *found, lease).run()
    return 1


class _ImportStopped(Exception):  # noqa: N818 - it is no error
    """The import was cancelled, or another worker has taken it over."""


@dataclass(frozen=True, slots=True)
class _StatementToImport:
    account: StatementAccount
    statement: BankStatement
    # Why the statement is held; empty if its sums are right.
    broken_invariants: Sequence[CodedText]

    @property
    def is_notification(self) -> bool:
        return self.statement.kind is StatementKind.DETAILS

    @property
    def is_newest(self) -> bool:
        """Whether this is a statement, not a notification, and no later statement was imported. Its
        pending entries are then shown."""
        day = self.statement.period_to or self.statement.created_on
        known = self.account.reported_until
        return not self.is_notification and (known is None or day is None or day >= known)


@dataclass(slots=True)
class _FileImport:
    """One file while it is imported."""

    resources: Resources
    merchant_id: int
    file_id: UUID
    lease: Lease
    problems: list[CodedText] = field(default_factory=list)
    # Numbers of entries: all in the file, those that were read, and those among the read ones that
    # the bank has not booked.
    entry_count: int = 0
    read_count: int = 0
    pending_count: int = 0

    async def run(self) -> None:
        try:
            statements = await self._read()
            if statements is None:
                return await self._end(FileState.REFUSED)
            self.entry_count = sum(len(each.statement.entries) for each in statements)
            # Statements come first, so that notifications find the entries that they complete.
            order = sorted(
                statements, key=lambda each: each.statement.kind is StatementKind.DETAILS
            )
            for each in order:
                await self._import_statement(each)
            for account in dict.fromkeys(each.account.account for each in order):
                await self._match(account)
            await self._end(FileState.DONE)
        except _ImportStopped:
            log.info("bank file no longer imported", file_id=str(self.file_id))
        except (Refusal, DecryptionFailed):
            # For example, the database is unavailable, or a version of the secret key is missing.
            # The file is imported once the lease ends.
            raise
        except Exception:
            log.exception("bank file cannot be imported", file_id=str(self.file_id))
            self.problems.append(build_problem("INTERNAL"))
            await self._end(FileState.REFUSED)

    async def _read(self) -> list[_StatementToImport] | None:
        """Read the file. Return None if there are problems and no statement to import."""
        async with self.resources.database.connection() as connection:
            file = await find_file(connection, self.merchant_id, self.file_id)
            sealed = await find_content(connection, self.merchant_id, self.file_id)
            accounts = await list_accounts(connection, self.merchant_id)
        if file is None or sealed is None or file.state in ENDED:
            raise _ImportStopped
        content = open_file(self.resources.keys, self.merchant_id, self.file_id, sealed)
        mapping = accounts[file.account].csv_mapping
        files = await asyncio.to_thread(parse_bank_file, file.name, content, mapping)
        self.problems += [each.refusal.problem for each in files if each.refusal is not None]
        await self._record_reports([one for each in files for one in each.status_reports])
        found = []
        for statement in _complete_statements(files):
            account = _find_account(accounts.values(), statement)
            if account is None:
                self.problems.append(
                    build_problem(
                        "OTHER_ACCOUNT", statement=statement.statement_id,
                        account=statement.account or "?",
                    )
                )  # fmt: skip
                continue
            if account.closed_at is not None:
                self.problems.append(
                    build_problem(
                        "CLOSED_ACCOUNT", statement=statement.statement_id, account=account.account
                    )
                )
                continue
            broken = find_broken_invariants(statement)
            self._add_problems("OF_STATEMENT", statement, statement.problems)
            self._add_problems("HELD", statement, broken)
            found.append(_StatementToImport(account, statement, broken))
        return found if found or not self.problems else None

    def _add_problems(
        self, code: str, statement: BankStatement, problems: Sequence[CodedText]
    ) -> None:
        self.problems += [
            build_problem(code, statement=statement.statement_id, problem=each) for each in problems
        ]

    async def _record_reports(self, reports: Sequence[PaymentStatusReport]) -> None:
        """Record the direct debits that the bank rejects in these reports."""
        if not reports:
            return
        async with self.resources.database.transaction() as tx:
            work = await self._open_work(tx)
            today = work.now.astimezone(ZoneInfo(work.merchant.configuration.timezone)).date()
            await record_status_reports(work, reports, today)

    async def _import_statement(self, to_import: _StatementToImport) -> None:
        statement = to_import.statement
        account, keys = to_import.account.account, compute_entry_keys(statement)
        head = StatementHead(
            account,
            hash_statement(statement, keys),
            self.file_id,
            to_import.broken_invariants,
            entry_keys=frozenset(key.text for key in keys if key is not None),
        )
        arriving = [
            ArrivingEntry(number, key, entry)
            for number, (key, entry) in enumerate(zip(keys, statement.entries, strict=True), 1)
        ]
        groups: Sequence[Sequence[ArrivingEntry]] = [*split_into_groups(arriving)] or [[]]
        for group in groups:
            async with self.resources.database.transaction() as tx:
                work = await self._open_work(tx)
                is_held = await insert_statement(
                    tx, self.merchant_id, head, statement, now=work.real_now
                )
                if group is groups[0] and to_import.is_newest:
                    await delete_pending_entries(tx, self.merchant_id, account)
                # Only booked entries have a key.
                recorded = await record_entries(
                    work,
                    head,
                    statement,
                    [each for each in group if each.key is not None or to_import.is_newest],
                    digest_iban=self._digest_iban,
                    is_held=is_held,
                )
                self.read_count += len(group)
                self.pending_count += sum(each.key is None for each in group)
                await self._save_progress(tx, recorded.new_count)
                if group is groups[-1]:
                    await _finish_statement(work, head, statement)
            self._add_problems("OF_STATEMENT", statement, recorded.problems)

    async def _match(self, account: str) -> None:
        """Match all new transactions of an account, including those of other files, and again its
        recent open ones: their claims may have been created in the meantime."""
        async with self.resources.database.transaction() as tx:
            await match_recent_again(await self._open_work(tx), account)
        seen = 1
        while seen:
            seen = await match_next_set(self.resources, self.merchant_id, account)
            # In its own transaction, because matching locks rows of other files.
            async with self.resources.database.transaction() as tx:
                await self._save_progress(tx)

    async def _save_progress(self, tx: Connection, new: int = 0) -> None:
        """Save the progress, and renew the lease. A step of an import that was cancelled is rolled
        back."""
        now = self.resources.clock.now()
        self.lease = Lease(self.lease.lease_id, now + _LEASE)
        progress = ImportProgress(self.entry_count, self.read_count, self.pending_count, new)
        if not await save_progress(
            tx, self.merchant_id, self.file_id, self.lease, progress=progress
        ):
            raise _ImportStopped

    async def _end(self, state: FileState) -> None:
        async with self.resources.database.transaction() as tx:
            work = await self._open_work(tx)
            is_ended = await end_file(
                tx, self.merchant_id, self.file_id, lease=self.lease, state=state,
                problems=self.problems[:_MAX_PROBLEMS], now=work.real_now,
            )  # fmt: skip
            if is_ended:
                await save_audit(
                    work, "bankFile.end", f"bankFile:{self.file_id}",
                    after={"state": state, "entries": self.entry_count},
                )  # fmt: skip

    async def _open_work(self, tx: Connection) -> Work:
        merchant = await load_merchant(tx, self.merchant_id)
        assert merchant is not None
        return Work.open(self.resources, tx, merchant, SYSTEM)

    def _digest_iban(self, iban: str) -> bytes:
        return digest_payer(self.resources.keys, self.merchant_id, iban)


def digest_payer(keys: KeyRing, merchant_id: int, iban: str) -> bytes:
    """Return the digest by which a payer's account is found again at the merchant."""
    return keys.digest(_PAYER_PURPOSE, f"{merchant_id}:{iban}".encode())


def hash_statement(statement: BankStatement, keys: Sequence[EntryKey | None]) -> bytes:
    """Return the hash of what identifies a statement: its account, balances, days and entries."""
    parts = [
        statement.account, statement.kind, statement.statement_id, statement.period_from,
        statement.period_to, statement.created_on, statement.opening_cents,
        statement.closing_cents, *(each and each.text for each in keys),
    ]  # fmt: skip
    return hashlib.sha256("\n".join(map(str, parts)).encode()).digest()


def _complete_statements(files: Sequence[BankFile]) -> Iterator[BankStatement]:
    """Yield all statements, completed by the notifications in the same file."""
    statements = [one for each in files for one in each.statements]
    notifications = [each for each in statements if each.kind is StatementKind.DETAILS]
    for statement in statements:
        if statement.kind is StatementKind.DETAILS:
            yield statement
        else:
            yield merge_details(statement, notifications).statement


def _find_account(
    accounts: Iterable[StatementAccount], statement: BankStatement
) -> StatementAccount | None:
    """Return the account that a statement names, by its IBAN or by a national number that only one
    of the accounts has."""
    found = [
        each
        for each in accounts
        if each.iban == normalize_iban(statement.account) or is_statement_of(statement, each.iban)
    ]
    return found[0] if len(found) == 1 else None


async def _finish_statement(work: Work, head: StatementHead, statement: BankStatement) -> None:
    """Save the day up to which the bank has reported. A notification does not report a whole day,
    so nothing is saved for it."""
    if statement.kind is StatementKind.DETAILS:
        return
    days = [statement.period_to, statement.created_on]
    days += [each.booked_on for each in statement.entries if each.status is EntryStatus.BOOK]
    known = [each for each in days if each is not None]
    reported_until = statement.period_to or max(known, default=None)
    if reported_until is not None:
        await save_reported_until(work.tx, work.merchant_id, head.account, reported_until)
