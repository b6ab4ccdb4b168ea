"""Store the entries of a statement. Entries that are known are left out, and notifications
(camt.054) complete the entries that they belong to, whichever of the two arrives first."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.entries.interim.confirm_entries import confirm_entries
from dunwell.cases.statements.entries.store import (
    NotifiedEntry,
    delete_entries,
    find_notified_entries,
    find_stored_entries,
    insert_entries,
    insert_transactions,
    list_transactions,
    lock_account,
    replace_transactions,
)
from dunwell.cases.statements.entries.stored_entries import (
    ArrivingEntry,
    DigestIban,
    TransactionRow,
    build_entry_row,
    build_marks,
    build_transaction_rows,
)
from dunwell.cases.statements.formats.coded_text import CodedText, build_amount, build_day
from dunwell.cases.statements.formats.merge_details import (
    build_group_key,
    choose_group,
    complete_entry,
    count_with_amount,
    explain_difference,
)
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.cases.statements.formats.repeated_entries import (
    MAX_MOVED,
    EntryDecision,
    StoredEntry,
    decide_entry,
    is_near,
)
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryDetail,
    EntryStatus,
    StatementKind,
)
from dunwell.cases.statements.store import StatementHead
from dunwell.platform.text.shape import shorten

_KNOWN = EntryDecision(is_known=True)
_NEW = EntryDecision(is_known=False)


@dataclass(frozen=True, slots=True)
class RecordedEntries:
    """The number of booked entries that were not known, and a problem for each doubtful entry."""

    new_count: int
    problems: Sequence[CodedText]


async def record_entries(
    work: Work,
    head: StatementHead,
    statement: BankStatement,
    arriving: Sequence[ArrivingEntry],
    *,
    digest_iban: DigestIban,
    is_held: bool,
) -> RecordedEntries:
    """Store a group of a statement's entries. Equal entries of one statement may be in several
    groups. `is_held` is true if the statement is held, so that its transactions are not matched
    yet."""
    work.require(Right.RECORD_MONEY)
    await lock_account(work.tx, work.merchant_id, head.account)
    is_notification = statement.kind is StatementKind.DETAILS
    recorder = _Recorder(work, head, digest_iban)
    stored = await recorder.find_stored(arriving)
    if is_notification:
        new = [_NewEntry(each, _NEW) for each in await recorder.complete(arriving, stored)]
    else:
        others = await confirm_entries(
            work, head, statement.kind, arriving, digest_iban=digest_iban, is_held=is_held
        )
        new = recorder.decide(others, stored)
        await recorder.use_notified(new)
    # A notification alone is not matched: the entries of the statement that follows are.
    state = "HELD" if is_held or is_notification else "NEW"
    is_interim = statement.kind is StatementKind.REPORT
    count = await recorder.insert(new, state, is_interim=is_interim)
    return RecordedEntries(count, recorder.problems)


@dataclass(slots=True)
class _NewEntry:
    arriving: ArrivingEntry
    decision: EntryDecision
    # The transactions of this entry that an earlier notification listed.
    notified: Sequence[TransactionRow] = ()

    @property
    def key_text(self) -> str | None:
        key, decision = self.arriving.key, self.decision
        if key is None:
            return None
        return key.text if decision.other_marks is None else key.distinguish(decision.other_marks)

    def list_rows(self, entry_id: UUID, digest_iban: DigestIban) -> Iterator[TransactionRow]:
        entry, day = self.arriving.entry, self.decision.resembles_on
        rows: Iterable[TransactionRow] = build_transaction_rows(entry_id, entry, digest_iban)
        if self.notified and entry.booked_on is not None:
            rows = (
                replace(each, entry_id=entry_id, number=number, booked_on=entry.booked_on)
                for number, each in enumerate(self.notified, 1)
            )
        return (replace(each, resembles_on=day) for each in rows)


@dataclass(slots=True)
class _Recorder:
    work: Work
    head: StatementHead
    digest_iban: DigestIban
    problems: list[CodedText] = field(default_factory=list)

    async def find_stored(
        self, arriving: Sequence[ArrivingEntry]
    ) -> Mapping[tuple[str, bool], Sequence[StoredEntry]]:
        """Return the stored entries that have the bank reference of an arriving entry and were
        booked at most MAX_MOVED before the first or after the last arriving entry, by reference and
        direction."""
        entries = [each.entry for each in arriving if each.entry.bank_reference is not None]
        days = [each.booked_on for each in entries if each.booked_on is not None]
        found: dict[tuple[str, bool], list[StoredEntry]] = defaultdict(list)
        if days:
            references = {each.bank_reference or "" for each in entries}
            span = (min(days) - MAX_MOVED, max(days) + MAX_MOVED)
            for each in await find_stored_entries(
                self.work.tx,
                self.work.merchant_id,
                self.head.account,
                sorted(references),
                days=span,
            ):
                found[each.bank_reference, each.amount_cents >= 0].append(each)
        return found

    def decide(
        self,
        arriving: Sequence[ArrivingEntry],
        stored: Mapping[tuple[str, bool], Sequence[StoredEntry]],
    ) -> list[_NewEntry]:
        """Return the entries that are not known. An entry without a reference is recognised by its
        key alone, when the entry is inserted."""
        new = []
        for each in arriving:
            decision, listed = _NEW, stored.get(build_group_key(each.entry))
            if each.key is not None and listed:
                marks = build_marks(self.head.file_id, each.entry, self.digest_iban)
                decision = decide_entry(
                    each.entry, each.key.ordinal, marks, listed,
                    statement_hash=self.head.statement_hash,
                )  # fmt: skip
            if decision.resembles_on is not None:
                self.problems.append(_explain_doubt(each.entry, decision.resembles_on))
            if not decision.is_known:
                new.append(_NewEntry(each, decision))
        return new

    async def use_notified(self, new: Sequence[_NewEntry]) -> None:
        """Replace the transactions of each new entry by those that earlier notifications listed for
        it, if the notifications have more transactions. Delete the entries of these
        notifications."""
        tx, merchant_id = self.work.tx, self.work.merchant_id
        booked = [each for each in new if each.arriving.key is not None]
        references = {each.arriving.entry.bank_reference or "" for each in booked} - {""}
        keys = [each.key_text or "" for each in booked]
        left = await find_notified_entries(
            tx, merchant_id, self.head.account, sorted(references), entry_keys=keys
        )
        for each in booked if left else ():
            entry = each.arriving.entry
            found = _find_groups(entry, each.key_text, left)
            chosen = choose_group(entry, found) if found else None
            if chosen is None:
                if found:
                    self.problems.append(explain_difference(entry, found))
                continue
            entry_ids = [one.entry_id for one in chosen]
            rows = await list_transactions(tx, merchant_id, entry_ids)
            await delete_entries(tx, merchant_id, entry_ids)
            left = [one for one in left if one not in chosen]
            if len(rows) > count_with_amount(entry.details):
                charges = sum(one.charges_cents for one in chosen)
                each.arriving = replace(each.arriving, entry=replace(entry, charges_cents=charges))
                each.notified = rows

    async def complete(
        self,
        arriving: Sequence[ArrivingEntry],
        stored: Mapping[tuple[str, bool], Sequence[StoredEntry]],
    ) -> list[ArrivingEntry]:
        """Complete the stored entries to which the entries of the notification belong. Return the
        entries that belong to no stored entry."""
        parts: dict[UUID, list[BankEntry]] = defaultdict(list)
        known: dict[UUID, StoredEntry] = {}
        others = []
        for each in arriving:
            found = _find_booked(each.entry, stored.get(build_group_key(each.entry), ()))
            if found is None:
                others.append(each)
            elif each.entry.status is EntryStatus.BOOK:
                known[found.entry_id] = found
                parts[found.entry_id].append(each.entry)
        for entry_id, entries in parts.items():
            await self._replace_transactions(known[entry_id], entries)
        return others

    async def _replace_transactions(
        self, stored: StoredEntry, entries: Sequence[BankEntry]
    ) -> None:
        """Replace the stored transactions of an entry by those of its notification. Nothing is
        changed once one of the stored transactions was matched or decided."""
        known = BankEntry(
            amount_cents=stored.amount_cents,
            currency=stored.currency,
            status=EntryStatus.BOOK,
            booked_on=stored.booked_on,
            bank_reference=stored.bank_reference,
            charges_cents=stored.charges_cents,
            details=(EntryDetail(amount_cents=None),) * stored.transaction_count,
        )
        completed = complete_entry(known, [entries])
        if completed is None:
            self.problems.append(explain_difference(known, [entries]))
        if completed is None or len(completed.details) < stored.transaction_count:
            return
        rows = build_transaction_rows(stored.entry_id, completed, self.digest_iban)
        account = (self.work.merchant_id, self.head.account)
        await replace_transactions(self.work.tx, account, stored.entry_id, [*rows])

    async def insert(self, new: Sequence[_NewEntry], state: str, *, is_interim: bool) -> int:
        """Insert the entries and their transactions. Return how many of the inserted entries are
        booked."""
        tx, merchant_id = self.work.tx, self.work.merchant_id
        by_id = {self.work.ids.new(self.work.real_now): each for each in new}
        entries = [
            build_entry_row(entry_id, each.key_text, each.arriving.number, each.arriving.entry)
            for entry_id, each in by_id.items()
        ]
        inserted = await insert_entries(tx, merchant_id, self.head, entries, is_interim=is_interim)
        rows = [
            row
            for entry_id, each in by_id.items()
            if entry_id in inserted
            for row in each.list_rows(entry_id, self.digest_iban)
        ]
        await insert_transactions(tx, merchant_id, self.head.account, state, rows=rows)
        return sum(by_id[each].key_text is not None for each in inserted)


def _find_booked(entry: BankEntry, stored: Sequence[StoredEntry]) -> StoredEntry | None:
    """Return the stored entry that a notified entry belongs to: one of the same day if there is
    any, otherwise the nearest one."""
    near = [each for each in stored if is_near(each.booked_on, entry.booked_on)]
    return min(near, key=lambda each: _count_days(entry, each.booked_on), default=None)


def _count_days(entry: BankEntry, day: date) -> int:
    return 0 if entry.booked_on is None else abs((entry.booked_on - day).days)


def _find_groups(
    entry: BankEntry, key_text: str | None, notified: Sequence[NotifiedEntry]
) -> list[list[NotifiedEntry]]:
    """Return the stored entries of notifications that belong to this entry, one list for each
    notification."""
    equal = [each for each in notified if each.entry_key == key_text]
    if equal:
        return [equal]
    near = [
        each
        for each in notified
        if each.bank_reference is not None
        and (each.bank_reference, each.amount_cents >= 0) == build_group_key(entry)
        and is_near(each.booked_on, entry.booked_on)
    ]
    same_day = [each for each in near if each.booked_on == entry.booked_on]
    groups: dict[bytes, list[NotifiedEntry]] = defaultdict(list)
    for each in same_day or near:
        groups[each.statement_hash].append(each)
    return [*groups.values()]


def _explain_doubt(entry: BankEntry, day: date) -> CodedText:
    return build_problem(
        "RESEMBLES",
        entry=shorten(entry.bank_reference or ""),
        amount=build_amount(entry.amount_cents, entry.currency),
        booked_on=build_day(entry.booked_on or day),
        day=build_day(day),
    )
