"""How often somebody may be wrong: ten times in a quarter of an hour, counted by whom they say they
are and by where they come from.

A try is counted before it is looked at and given back when it was right, so that many at once are
no more than ten. Whether a user exists makes no difference: an e-mail address is counted, by a
keyed digest, whosever it is.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from dunwell.kit.addresses import find_network
from dunwell.kit.attempts import Attempts, count_attempt, give_back_attempt, load_attempts
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection
from dunwell.people.user import fold_email
from dunwell.people.visitor import Visitor

MOST_WRONG = 10
WINDOW = timedelta(minutes=15)
_USER, _VISITOR = "portal-tries-user", "portal-tries-visitor"


def list_subjects(keys: KeyRing, visitor: Visitor, email: str | None) -> Sequence[bytes]:
    """What a try is counted by. email: None: whose it is turns out on the way."""
    # By the oldest version: what was counted before a newer one came into use goes on counting.
    version = min(keys.versions)
    subjects = [keys.digest(_VISITOR, find_network(visitor.host), version)]
    if email is not None:
        subjects.append(keys.digest(_USER, fold_email(email).encode(), version))
    return sorted(subjects)


async def take_try(tx: Connection, subjects: Sequence[bytes], now: datetime) -> int | None:
    """None: it is counted. Else the seconds until there is another one; nothing is counted."""
    counted: list[tuple[bytes, Attempts | None]] = []
    wait = 0.0
    for subject in subjects:
        known = await load_attempts(tx, subject)
        if known is not None and known.first_at + WINDOW <= now:
            known = None
        if known is not None and known.count >= MOST_WRONG:
            wait = max(wait, (known.first_at + WINDOW - now).total_seconds())
        counted.append((subject, known))
    if wait:
        return math.ceil(wait)
    for subject, known in counted:
        await count_attempt(tx, subject, known, now)
    return None


async def give_back_try(tx: Connection, subjects: Sequence[bytes]) -> None:
    """It was right."""
    for subject in subjects:
        await give_back_attempt(tx, subject)
