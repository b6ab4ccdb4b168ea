"""What a draft of the rules would have done to the claims of the last 30 days, beside what the
published ones do with them. Amounts are those at their creation, with nothing paid and no fee of
the process; who the debtor is and how to reach them, as it is known now. Reads alone.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.preview.effect import Effect, add_claims
from dunwell.cases.assignment.preview.store import FROM_THE_NEWEST, load_past_claims
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.targets import Rulebook, make_rulebook

LOOKS_BACK = timedelta(days=30)
PAGE = 1_000


@dataclass(slots=True)
class RulesPreview:
    """`next_id`: where counting goes on; none: all claims since then are counted."""

    before: Rulebook
    after: Rulebook
    since: datetime
    effect: Effect = field(default_factory=Effect)
    next_id: int | None = FROM_THE_NEWEST


async def begin_preview(work: Work, before: RuleSet, after: RuleSet) -> RulesPreview:
    """Nothing is counted yet."""
    work.need(Right.READ_CLAIMS)
    return RulesPreview(
        before=await make_rulebook(work.tx, work.merchant, before, None),
        after=await make_rulebook(work.tx, work.merchant, after, None),
        since=work.now - LOOKS_BACK,
    )


async def count_on(work: Work, preview: RulesPreview, most: int) -> None:
    """Count about so many claims more, page by page: others are served between."""
    work.need(Right.READ_CLAIMS)
    zone = ZoneInfo(work.merchant.configuration.timezone)
    counted = preview.effect.claims + most
    while preview.next_id is not None and preview.effect.claims < counted:
        page = await load_past_claims(
            work.tx, work.merchant_id, zone,
            since=preview.since, from_id=preview.next_id, limit=PAGE,
        )  # fmt: skip
        add_claims(preview.effect, page.claims, preview.before, preview.after)
        preview.next_id = page.next_id
