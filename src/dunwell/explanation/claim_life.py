"""What happened to a claim from its beginning on: contacts, money, objections, plans, steps, notes
and who changed what. The newest first, all of one instant.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.claims.access import check_claim
from dunwell.explanation.life_store import load_actors, load_life, load_user_names
from dunwell.kit.db import snapshot
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right

MOST = 500


@dataclass(frozen=True, slots=True)
class Happening:
    """kind: CREATED, CONTACT, NOTICE, PAYMENT, REVERSAL, REQUEST, DISPUTE, DISPUTE_END, PLAN,
    PLAN_ANSWER, PLAN_END, PAUSE, RESUME, STEP, LOOK, NOTE, REPLY or CHANGE. word, more, text: what
    the kind is told by (`life.sql`)."""

    kind: str
    at: datetime
    subject_id: UUID | None
    word: str | None
    more: str | None
    text: str | None
    cents: int | None
    until: datetime | None
    actor_kind: str | None
    # A person's name, where it is one; else as the audit log has it.
    actor: str | None


async def read_claim_life(work: Work, claim_id: int) -> list[Happening]:
    """At most `MOST`. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        rows = await load_life(work.tx, work.merchant_id, claim_id, MOST)
        doers = await load_actors(work.tx, work.merchant_id, claim_id)
        known = [(row, doers.get(_find_action(row.kind, row.word, row.subject_id))) for row in rows]
        ids = {
            doer.actor_id
            for row, found in known
            for doer in (row.doer, found)
            if doer is not None and doer.kind == "USER" and doer.actor_id
        }
        names = await load_user_names(work.tx, ids)
    happenings = []
    for row, found in known:
        doer = row.doer or found
        actor_id = doer.actor_id if doer else None
        actor = names.get(actor_id or "", actor_id)
        happenings.append(
            Happening(
                row.kind,
                row.at,
                subject_id=row.subject_id,
                word=row.word,
                more=row.more,
                text=row.text,
                cents=row.cents,
                until=row.until,
                actor_kind=doer.kind if doer else None,
                actor=actor,
            )
        )
    return happenings


def _find_action(kind: str, word: str | None, subject_id: UUID | None) -> tuple[str, str]:
    """The audit log's action and the id that it names, of what does not bear its actor itself."""
    action = {
        "PAYMENT": "payment.record",
        "REVERSAL": "payment.reverse",
        "DISPUTE_END": "dispute.withdraw" if word == "WITHDRAWN" else "dispute.resolve",
        "PLAN_ANSWER": "modality.approve" if word == "APPROVED" else "modality.reject",
        "PLAN_END": "modality.withdraw",
    }.get(kind, "")
    return action, str(subject_id)
