"""The keys by which entries are recognised when a file is imported again, or another file has the
same entry.

With a bank reference, an entry is recognised by the account, the reference and the amount. The
amount is part of the key because some banks give a booking and its reversal the same reference.
Without a reference, it is recognised by the account, the day, the amount and all its texts. Equal
entries of one statement are counted, so that two equal payments stay two. The statement's id is not
part of the key, because banks use it again every year. Pure.
"""

import hashlib
import json
from collections import Counter

from dunwell.cases.statements.formats.statement import BankEntry, BankStatement, EntryStatus


def compute_entry_keys(statement: BankStatement) -> tuple[str | None, ...]:
    """Return the key of each entry of a statement, in order: 64 hexadecimal digits.

    An entry that is not booked has none: it can return with another text and amount.
    """
    seen: Counter[str] = Counter()
    keys: list[str | None] = []
    for entry in statement.entries:
        if entry.status is not EntryStatus.BOOK:
            keys.append(None)
            continue
        identity = _identify(statement, entry)
        keys.append(_hash([identity, seen[identity]]))
        seen[identity] += 1
    return tuple(keys)


def _identify(statement: BankStatement, entry: BankEntry) -> str:
    account = [statement.account.replace(" ", "").upper(), entry.currency]
    if entry.bank_reference is not None:
        return _hash(["reference", *account, entry.bank_reference, entry.amount_cents])
    texts = [" ".join(text.split()) for text in entry.list_texts()]
    return _hash(["texts", *account, str(entry.booked_on), entry.amount_cents, *texts])


def _hash(values: list[str | int]) -> str:
    # JSON keeps the borders between values: ["ab", "c"] and ["a", "bc"] differ.
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
