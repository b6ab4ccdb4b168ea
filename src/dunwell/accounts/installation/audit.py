"""The audit log of what is of no merchant: sign-ins, people, keys, the installation file. A row is
written in the transaction of what it tells of; seals cover it within seconds, as a merchant's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dunwell.platform.database.database import Connection
from dunwell.platform.ids import Ids

_INSERT = """
INSERT INTO installation_audit
    (audit_id, at, actor_kind, actor_id, action, subject, before, after, origin)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What somebody did. `before` and `after` hold the fields that changed, by name, those of
    people masked; never a secret, nor what a secret was made of."""

    # SYSTEM, OPERATOR (the command line), USER, or VISITOR: whoever has not signed in.
    actor_kind: str
    actor_id: str | None = None
    # noun.verb, as session.begin.
    action: str
    # kind:id, as user:0195...
    subject: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    # As `merchants.actor.Origin.as_json` has it.
    origin: Mapping[str, str] | None = None


async def save_installation_audit(tx: Connection, act: Act, now: datetime, ids: Ids) -> None:
    """`now` is real time."""
    await tx.execute(
        _INSERT, ids.new(now), now, act.actor_kind, act.actor_id, act.action, act.subject,
        act.before, act.after, act.origin,
    )  # fmt: skip
