"""The keys by which entries are recognised when a file is imported again, or another file has the
same entry.

With a bank reference, an entry is recognised by the account, the reference, the amount and the day
of booking. The amount is part of the key because some banks give a booking and its reversal the
same reference, and the day because some use a reference again. Without a reference, an entry is
recognised by the account, the day, the amount and all its texts. Equal entries of one statement are
numbered, so that two equal payments remain two. The statement's id is not part of the key, because
banks use it again every year. Pure.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field

from dunwell.cases.statements.formats.repeated_entries import PaymentMarks
from dunwell.cases.statements.formats.statement import BankEntry, BankStatement, EntryStatus


@dataclass(frozen=True, slots=True)
class EntryKey:
    """What identifies an entry, and its place among equal entries of its statement, from 0."""

    identity: str
    ordinal: int
    # The key as it is stored: 64 hexadecimal digits.
    text: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _hash([self.identity, self.ordinal]))

    def distinguish(self, marks: PaymentMarks) -> str:
        """Return the stored key of an entry that only its marks distinguish from another one."""
        digest = (marks.payer_digest or b"").hex()
        return _hash([self.identity, "other", marks.end_to_end_id or "", digest])


def compute_entry_keys(statement: BankStatement) -> tuple[EntryKey | None, ...]:
    """Return the key of each entry of a statement, in order.

    An entry that is not booked has no key: a later statement can have it with another text and
    amount.
    """
    seen: Counter[str] = Counter()
    keys: list[EntryKey | None] = []
    for entry in statement.entries:
        if entry.status is not EntryStatus.BOOK:
            keys.append(None)
            continue
        identity = _identify(statement, entry)
        keys.append(EntryKey(identity, seen[identity]))
        seen[identity] += 1
    return tuple(keys)


def _identify(statement: BankStatement, entry: BankEntry) -> str:
    account = [statement.account.replace(" ", "").upper(), entry.currency]
    day = str(entry.booked_on)
    if entry.bank_reference is not None:
        return _hash(["reference", *account, day, entry.bank_reference, entry.amount_cents])
    texts = [" ".join(text.split()) for text in entry.list_texts()]
    return _hash(["texts", *account, day, entry.amount_cents, *texts])


def _hash(values: list[str | int]) -> str:
    # JSON keeps the borders between values: ["ab", "c"] and ["a", "bc"] differ.
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
