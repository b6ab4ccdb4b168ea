"""A merchant's assignment rules as people write them: the published ones and the draft."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.assignment.document import RulesDocument, write_rules
from dunwell.assignment.store import load_published_rules, load_rules_draft, load_targets
from dunwell.kit.db import snapshot
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right


@dataclass(frozen=True, slots=True)
class RulesView:
    """None: nothing was published yet; no draft."""

    version: int | None
    published_at: datetime | None
    published: RulesDocument | None
    saved_at: datetime | None
    draft: RulesDocument | None


async def read_rules(work: Work) -> RulesView:
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        published = await load_published_rules(work.tx, work.merchant_id)
        draft = await load_rules_draft(work.tx, work.merchant_id)
        targets = await load_targets(work.tx, work.merchant_id)
    names = {row.workflow_id: row.name for row in targets.values()}
    return RulesView(
        version=None if published is None else published.version,
        published_at=None if published is None else published.published_at,
        published=None if published is None else write_rules(published.rules, names),
        saved_at=None if draft is None else draft.saved_at,
        draft=None if draft is None else write_rules(draft.rules, names),
    )


async def has_rules(work: Work) -> bool:
    """Whether any are published: without them no new claim gets a process."""
    work.need(Right.READ_CLAIMS)
    return await load_published_rules(work.tx, work.merchant_id) is not None
