"""A debtor's other claims are found by the address among very many claims, without reading the
rest."""

import pytest

from dunwell.interfaces.landing.claim_page.other_claims import _BY_EMAIL, _BY_NUMBER
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import NUMBER
from tests.support.harness import Harness, a_harness
from tests.support.plans import Explaining, fill

COUNT = 20_000
_FILL = f"""
WITH filled AS (
    INSERT INTO claims (merchant_id, reference_number, currency, created_at, updated_at)
    SELECT $1, 'FILL-' || n, 'EUR', now(), now() FROM generate_series(1, {COUNT}) n
    RETURNING claim_id
)
INSERT INTO debtors (merchant_id, claim_id, email, mobile_number)
SELECT $1, claim_id, claim_id || '@example.com', '+49151' || claim_id FROM filled
"""
_ME = "Erika@example.org"


@pytest.fixture(scope="module")
async def harness(module_resources: Resources, lasting_clock: MovableClock) -> Harness:
    harness = await a_harness(module_resources, lasting_clock)
    await harness.create("INV-1", "INV-2", email=_ME, mobileNumber=NUMBER)
    tables = "claims, debtors, items, allocations"
    await fill(module_resources.database, _FILL, harness.merchant.merchant_id, tables=tables)
    return harness


@pytest.mark.parametrize(
    ("statement", "address", "index"),
    [(_BY_EMAIL, _ME.lower(), "debtors_email"), (_BY_NUMBER, NUMBER, "debtors_mobile_number")],
    ids=["email", "number"],
)
async def test_other_claims_of_a_debtor_are_found_by_an_index_on_the_address(
    harness: Harness, statement: str, address: str, index: str
) -> None:
    [first, _] = await _claim_ids(harness)
    async with harness.resources.database.connection() as connection:
        explaining = Explaining(connection)
        found = await _load(explaining, statement, harness, first, address)
    assert found == ["INV-2"]
    assert index in explaining.indexes, explaining.plans
    assert "claims" not in explaining.tables_read_whole, explaining.plans
    assert "debtors" not in explaining.tables_read_whole, explaining.plans
    assert explaining.rows_read < 20, explaining.plans


async def _load(
    tx: Connection, statement: str, harness: Harness, claim_id: int, address: str
) -> list[str]:
    rows = await tx.fetch(statement, harness.merchant.merchant_id, claim_id, "CODE", address)
    return [row["reference_number"] for row in rows]


async def _claim_ids(harness: Harness) -> list[int]:
    rows = await harness.rows(
        "SELECT claim_id FROM claims WHERE merchant_id = $1 AND reference_number LIKE 'INV-%'"
        " ORDER BY claim_id"
    )
    return [row["claim_id"] for row in rows]
