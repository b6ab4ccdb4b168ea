"""Complete the entries of a statement (camt.053) with the transactions that a notification
(camt.054) gives for them. The two are one booking: they have the same account, the same reference
of the bank and the same amount. Pure.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol, TypeVar

from dunwell.cases.statements.formats.coded_text import CodedText, build_amount
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.cases.statements.formats.repeated_entries import is_near
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryDetail,
    EntryStatus,
)
from dunwell.platform.text.shape import shorten


@dataclass(frozen=True, slots=True)
class MergedStatement:
    statement: BankStatement
    # The entries of notifications that completed no entry of the statement. These can belong to
    # another statement of the account.
    unused: tuple[BankEntry, ...] = ()


def merge_details(
    statement: BankStatement, notifications: Iterable[BankStatement]
) -> MergedStatement:
    """Return the statement with its entries completed. Notifications of other accounts are ignored.

    If the amount of a notification differs from that of the entry, its transactions are not used,
    and the statement gets a problem that says so.
    """
    groups: dict[tuple[str, bool], list[list[BankEntry]]] = defaultdict(list)
    unused: list[BankEntry] = []
    for notification in notifications:
        if notification.account != statement.account:
            continue
        unused += [each for each in _list_booked(notification) if each.bank_reference is None]
        for key, entries in _group_entries(notification).items():
            groups[key].append(entries)
    own_days = {(build_group_key(each), each.booked_on) for each in _list_booked(statement)}
    merged: list[BankEntry] = []
    problems = list(statement.problems)
    for entry in statement.entries:
        is_booked = entry.status is EntryStatus.BOOK
        listed = groups[build_group_key(entry)] if is_booked else []
        found = _take_entries(entry, listed, own_days)
        completed = complete_entry(entry, found)
        if completed is None:
            problems.append(explain_difference(entry, found))
            unused += [each for group in found for each in group]
        merged.append(completed or entry)
    unused += [each for found in groups.values() for group in found for each in group]
    completed_statement = replace(statement, entries=tuple(merged), problems=tuple(problems))
    return MergedStatement(completed_statement, tuple(unused))


def _take_entries(
    entry: BankEntry,
    listed: Sequence[list[BankEntry]],
    own_days: Collection[tuple[tuple[str, bool], date | None]],
) -> list[list[BankEntry]]:
    """Remove the notified entries that belong to an entry from the lists, and return them. A bank
    that uses a reference again gives it to entries of several days."""
    has_same_day = any(each.booked_on == entry.booked_on for group in listed for each in group)
    taken = []
    for group in listed:
        chosen = [
            each
            for each in group
            if each.booked_on == entry.booked_on
            or (
                not has_same_day
                and is_near(each.booked_on, entry.booked_on)
                and (build_group_key(each), each.booked_on) not in own_days
            )
        ]
        if chosen:
            taken.append(chosen)
            group[:] = [each for each in group if each not in chosen]
    return taken


def complete_entry(entry: BankEntry, found: Sequence[Sequence[BankEntry]]) -> BankEntry | None:
    """Return the entry with the transactions of the notification that names its reference. Return
    None if no notification has the amount of the entry. `found` has the entries of each
    notification.

    The entry stays unchanged if it already has at least as many transactions with amounts as the
    notification.
    """
    if not found:
        return entry
    group = choose_group(entry, found)
    if group is None:
        return None
    details = tuple(detail for each in group for detail in _list_details(each))
    if count_with_amount(details) <= count_with_amount(entry.details):
        return entry
    charges = sum(each.charges_cents for each in group)
    return replace(entry, details=details, charges_cents=charges)


class NotifiedAmount(Protocol):
    @property
    def amount_cents(self) -> int: ...
    @property
    def currency(self) -> str: ...


_Notified = TypeVar("_Notified", bound=NotifiedAmount)


def choose_group(
    entry: BankEntry, found: Sequence[Sequence[_Notified]]
) -> Sequence[_Notified] | None:
    """Return the entries of one notification, or of all together, that add up to the amount of the
    entry. Return None if there are no such entries."""
    together = [each for group in found for each in group]
    for group in (*found, together):
        total = sum(each.amount_cents for each in group)
        if total == entry.amount_cents and {each.currency for each in group} == {entry.currency}:
            return group
    return None


def _group_entries(notification: BankStatement) -> dict[tuple[str, bool], list[BankEntry]]:
    groups: dict[tuple[str, bool], list[BankEntry]] = defaultdict(list)
    for entry in _list_booked(notification):
        if entry.bank_reference is not None:
            groups[build_group_key(entry)].append(entry)
    return groups


def build_group_key(entry: BankEntry) -> tuple[str, bool]:
    """Return the key under which the entries of one booking are grouped: the reference and whether
    money arrives. A booking and its reversal can have the same reference."""
    return entry.bank_reference or "", entry.amount_cents >= 0


def _list_booked(notification: BankStatement) -> Sequence[BankEntry]:
    return [entry for entry in notification.entries if entry.status is EntryStatus.BOOK]


def _list_details(entry: BankEntry) -> Sequence[EntryDetail]:
    """Return the transactions of a notified entry. An entry without transactions is itself one."""
    own = EntryDetail(
        amount_cents=entry.amount_cents - entry.charges_cents,
        payment_information_id=entry.payment_information_id,
        additional_text=entry.additional_text,
        transaction_code=entry.transaction_code,
    )
    return entry.details or (own,)


def count_with_amount(details: Sequence[EntryDetail]) -> int:
    """Return how many of the transactions have an amount."""
    return sum(detail.amount_cents is not None for detail in details)


def explain_difference(entry: BankEntry, found: Sequence[Sequence[NotifiedAmount]]) -> CodedText:
    """Return the problem that the notified entries do not add up to the amount of the entry."""
    total = sum(each.amount_cents for group in found for each in group)
    return build_problem(
        "NOTIFIED_AMOUNT",
        entry=shorten(entry.bank_reference or ""),
        notified=build_amount(total, entry.currency),
        amount=build_amount(entry.amount_cents, entry.currency),
    )
