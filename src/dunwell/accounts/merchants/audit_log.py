"""The audit log: one row per use case, written in its transaction; read by subject, actor and time,
the newest first.
"""

from collections.abc import Mapping
from typing import Any

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_fields import MASKED, mask, select_changed_fields

__all__ = ["MASKED", "mask", "save_audit", "select_changed_fields"]

_INSERT = """
INSERT INTO audit_log
    (merchant_id, audit_id, at, actor_kind, actor_id, action, subject, details, before, after,
     origin)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""


async def save_audit(
    work: Work,
    action: str,
    subject: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    **details: Any,
) -> None:
    """Record that the work's actor did `action` (noun.verb) to `subject` (kind:id).

    `before` and `after` are the fields that changed, by name: none before what is created, none
    after what is removed. What is a person's is masked (`mask`); `details` hold ids, counts and
    states. Never a secret.
    """
    actor = work.actor
    await work.tx.execute(
        _INSERT, work.merchant_id, work.ids.new(work.now), work.now, actor.kind, actor.actor_id,
        action, subject, details, before, after, actor.origin_json,
    )  # fmt: skip
