"""The audit log: one row per use case, written in its transaction."""

from typing import Any

from dunwell.merchants.account import Work

_INSERT = """
INSERT INTO audit_log
    (merchant_id, audit_id, at, actor_kind, actor_id, action, subject, details)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""


async def save_audit(work: Work, action: str, subject: str, **details: Any) -> None:
    """Record that the work's actor did `action` (noun.verb) to `subject` (kind:id).

    `details` hold ids, counts and states, never personal data or secrets.
    """
    await work.tx.execute(
        _INSERT, work.merchant_id, work.ids.new(work.now), work.now,
        work.actor.kind, work.actor.actor_id, action, subject, details,
    )  # fmt: skip
