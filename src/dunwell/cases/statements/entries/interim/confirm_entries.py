"""Recognise the entries of intraday reports in the statement of the day, whichever of the two is
imported first. The statement takes these entries over."""

from collections.abc import Sequence

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.entries.interim.pair_entries import (
    StoredCandidate,
    UnknownEntry,
    pair_entries,
)
from dunwell.cases.statements.entries.interim.store import (
    ConfirmedEntry,
    list_confirmed_entries,
    list_entries_of_same_file,
    list_interim_entries,
    list_known_keys,
    release_held_transactions,
    take_over_entries,
)
from dunwell.cases.statements.entries.store import replace_transactions
from dunwell.cases.statements.entries.stored_entries import (
    ArrivingEntry,
    DigestIban,
    build_marks,
    build_transaction_rows,
)
from dunwell.cases.statements.formats.entry_keys import EntryKey
from dunwell.cases.statements.formats.statement import StatementKind
from dunwell.cases.statements.store import StatementHead


async def confirm_entries(
    work: Work, head: StatementHead, kind: StatementKind, arriving: Sequence[ArrivingEntry], *,
    digest_iban: DigestIban, is_held: bool,
) -> Sequence[ArrivingEntry]:  # fmt: skip
    """Let a statement take over the entries of reports. Return the arriving entries without those
    that are already stored with other texts."""
    work.require(Right.RECORD_MONEY)
    booked = [(each, each.key) for each in arriving if each.key is not None]
    stored = await _list_candidates(work, head, kind, [each for each, _ in booked])
    if not stored:
        return arriving
    keys = [key.text for _, key in booked]
    known = await list_known_keys(work.tx, work.merchant_id, head.account, keys)
    unknown = [
        UnknownEntry(each.number, each.entry, build_marks(head.file_id, each.entry, digest_iban))
        for each, key in booked
        if key.text not in known
    ]
    paired = pair_entries(unknown, stored, head.entry_keys)
    if kind is StatementKind.STATEMENT:
        by_key = {each.entry_key: each for each in stored}
        confirmed = [
            (each, key, paired.get(each.number) or by_key[key.text])
            for each, key in booked
            if each.number in paired or key.text in by_key
        ]
        for each, _, known_entry in confirmed:
            if known_entry.is_held or (each.number in paired and not is_held):
                await _replace_payments(work, head, known_entry, each, digest_iban=digest_iban)
        await _take_over(work, head, confirmed, is_held=is_held)
    return [each for each in arriving if each.number not in paired]


async def _list_candidates(
    work: Work, head: StatementHead, kind: StatementKind, booked: Sequence[ArrivingEntry]
) -> list[StoredCandidate]:
    """Return the stored entries that may be the same as the arriving ones.

    For a statement, these are the unconfirmed entries of reports on its days, and the entries that
    an earlier import of the same file read, for example with another CSV mapping. For a report,
    they are the entries of statements on its days with its amounts.
    """
    days = {each.entry.booked_on for each in booked if each.entry.booked_on is not None}
    if not days:
        return []
    if kind is StatementKind.STATEMENT:
        interim = await list_interim_entries(work.tx, work.merchant_id, head.account, days)
        reread = await list_entries_of_same_file(work.tx, work.merchant_id, head, days)
        return list({each.entry_id: each for each in (*interim, *reread)}.values())
    amounts = {each.entry.amount_cents for each in booked}
    return await list_confirmed_entries(
        work.tx, work.merchant_id, head.account, days, amounts=amounts
    )


async def _take_over(
    work: Work, head: StatementHead,
    pairs: Sequence[tuple[ArrivingEntry, EntryKey, StoredCandidate]], *, is_held: bool,
) -> None:  # fmt: skip
    """Move the stored entries into the statement. Unless it is held, let their payments be
    matched."""
    confirmed = [
        ConfirmedEntry(stored.entry_id, arriving.number, key.text, arriving.entry.bank_reference)
        for arriving, key, stored in pairs
    ]
    await take_over_entries(work.tx, work.merchant_id, head, confirmed)
    if not is_held:
        await release_held_transactions(
            work.tx, work.merchant_id, [each.entry_id for each in confirmed]
        )


async def _replace_payments(
    work: Work, head: StatementHead, stored: StoredCandidate, arriving: ArrivingEntry, *,
    digest_iban: DigestIban,
) -> None:  # fmt: skip
    """Replace the payments of a stored entry by those of the statement, unless one of them was
    matched or decided. If the statement has fewer payments, replace only payments that are held."""
    rows = [*build_transaction_rows(stored.entry_id, arriving.entry, digest_iban)]
    if stored.is_held or len(rows) >= stored.transaction_count:
        account = (work.merchant_id, head.account)
        await replace_transactions(work.tx, account, stored.entry_id, rows)
