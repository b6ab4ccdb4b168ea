"""Most pages execute one statement, a few two. The number does not grow with the rows: each page is
requested over few and over many rows."""

from collections.abc import Mapping
from typing import Any

from dunwell.interfaces.landing.session.session import Level
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.crowded_claim import PARTS
from tests.support.full_claim import FullClaim, a_full_claim
from tests.support.landing import Browser
from tests.support.one_claim import ROUTES
from tests.support.recorded_statements import Statements, a_counted_database

_MORE = 30
_TICKET = "SELECT ticket_id FROM uploads WHERE merchant_id = $1 ORDER BY ticket_id LIMIT 1"
# A debtor can open only a few disputes, but a merchant can record any number.
_RECORD = "UPDATE disputes SET actor_kind = 'CREDENTIAL' WHERE merchant_id = $1 AND state = $2"
# These pages load further data if the claim has any. A file is loaded separately.
_IN_TWO = {
    "/claim/options", "/claim/plan", "/claim/plan/check", "/claim/later", "/claim/later/check",
    "/claim/dispute", "/claim/dispute/{reason}",
    "/claim/documents/{attachment_id}", "/claim/modality/{modality_id}",
}  # fmt: skip

# These read the plan, its mandate and its collections, but no page of a list.
_IN_MORE = {
    "/claim/modality/{modality_id}/mandate", "/claim/modality/{modality_id}/mandate/pdf",
}  # fmt: skip


async def test_the_number_of_statements_does_not_depend_on_the_rows(
    resources: Resources, clock: MovableClock
) -> None:
    async with (
        a_counted_database(resources, clock, connections=4) as (over, statements),
        a_full_claim(over, clock) as full_claim,
    ):
        visitor = await full_claim.enter(Level.CODE)
        # The connections load the types of the statements.
        await _count(full_claim, visitor, statements)
        few = await _count(full_claim, visitor, statements)
        await _add_rows(full_claim)
        many = await _count(full_claim, visitor, statements)

    assert few == many
    assert {address for address, count in few.items() if count > 1} == _IN_TWO | _IN_MORE
    assert max(count for address, count in few.items() if address not in _IN_MORE) == 2


async def _count(
    full_claim: FullClaim, visitor: Browser, statements: Statements
) -> Mapping[str, int]:
    """Count the statements of a GET request, by address."""
    counts: dict[str, int] = {}
    for address in ROUTES:
        await statements.take()
        answer = await visitor.http.get(full_claim.build_link(address))
        assert answer.status_code in (200, 303, 404), address
        counts[address] = len(await statements.take())
    return counts


async def _add_rows(full_claim: FullClaim) -> None:
    """Add rows of everything that a claim can have many of."""
    harness = full_claim.landing.payments.harness
    [row] = await harness.rows(_TICKET)
    given: dict[str, Any] = {
        "merchant_id": harness.merchant.merchant_id, "claim_id": full_claim.claim_id, "size": _MORE,
        "ticket_id": row["ticket_id"], "now": harness.clock.now(),
    }  # fmt: skip
    async with harness.resources.database.connection() as connection:
        await connection.execute(PARTS.format(**given))
    await harness.rows(_RECORD, "WITHDRAWN")
