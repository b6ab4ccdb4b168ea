"""The preview of a draft of rules over 100,000 claims: a page of claims is found by keys and reads
only that page."""

from zoneinfo import ZoneInfo

import pytest

from dunwell.cases.assignment.preview_rules import (
    PAGE_SIZE,
    add_claims,
    continue_rules_preview,
    start_rules_preview,
)
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.store import FROM_THE_NEWEST, list_past_claims
from dunwell.platform.resources import Resources
from tests.plans.test_list_plans import _CLAIMS, COUNT, fill
from tests.support.plans import Explaining
from tests.support.rules import a_rule
from tests.support.webhooks import Outbox, an_outbox

_ZONE = ZoneInfo("Europe/Berlin")


@pytest.fixture(scope="module")
async def many_claims(module_resources: Resources) -> Outbox:
    outbox = await an_outbox(module_resources)
    await fill(outbox, _CLAIMS)
    return outbox


@pytest.mark.parametrize("from_id", [FROM_THE_NEWEST, 1_000_000 + COUNT // 2])
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_a_page_of_past_claims_reads_only_that_page(
    many_claims: Outbox, from_id: int, mode: str
) -> None:
    async with many_claims.resources.database.transaction() as tx:
        await tx.execute(f"SET LOCAL plan_cache_mode = {mode}")
        explaining = Explaining(tx)
        work = many_claims.work(tx)
        page = await list_past_claims(
            explaining, work.merchant_id, _ZONE,
            since=many_claims.now, from_id=from_id, limit=PAGE_SIZE,
        )  # fmt: skip
    assert len(page.claims) == PAGE_SIZE
    assert page.next_id == page.claims[-1].facts.claim_id - 1  # type: ignore[operator]
    assert explaining.tables_read_whole == set()
    assert {"claims_pkey", "debtors_pkey", "items_pkey"} <= explaining.indexes
    # Claims, their debtors and their items.
    assert explaining.rows_read <= 4 * PAGE_SIZE + 10


async def test_the_preview_counts_every_claim_once_and_ends_at_the_oldest(
    many_claims: Outbox,
) -> None:
    async with many_claims.resources.database.transaction() as tx:
        work = many_claims.work(tx)
        preview = await start_rules_preview(work, RuleSet(), RuleSet(rules=(a_rule("all"),)))
        preview.since = many_claims.now
        await continue_rules_preview(work, preview, 5 * PAGE_SIZE)
        assert (preview.effect.claims, preview.next_id) == (
            5 * PAGE_SIZE,
            1_000_000 + COUNT - 5 * PAGE_SIZE,
        )
        await continue_rules_preview(work, preview, COUNT)
        assert (preview.effect.claims, preview.next_id) == (COUNT, None)
        one = await list_past_claims(
            tx, work.merchant_id, _ZONE,
            since=many_claims.now, from_id=1_000_001, limit=PAGE_SIZE,
        )  # fmt: skip
        add_claims(preview.effect, one.claims, preview.before, preview.after)
    assert preview.effect.claims == COUNT + 1
