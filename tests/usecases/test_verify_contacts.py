"""Contacts, their messages and the ledger must agree; every contradiction is named."""

from collections.abc import AsyncIterator

import pytest
from asyncpg import UniqueViolationError

from dunwell.contact.messages.ledger.seal_ledger import seal_ledger
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.ledgers import COLUMNS, faults, seal_and_verify, tamper, verify

_INDEX = """
CREATE UNIQUE INDEX contact_ledger_once ON contact_ledger
    (merchant_id, claim_id, run, step_id, place) WHERE outcome IN ('ACCEPTED', 'SETTLED_SENT')
"""
_COPY = f"""
INSERT INTO contact_ledger (merchant_id, entry_id, {COLUMNS})
SELECT merchant_id, gen_random_uuid(), {COLUMNS} FROM contact_ledger WHERE merchant_id = $1
"""
_SENT = "'SETTLED_SENT'"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """Return a harness with one contacted person, whose row is sealed."""
    harness = await a_harness(resources, clock, a_definition())
    await harness.create()
    await harness.run()
    assert (await seal_and_verify(harness)).findings == ()
    return harness


@pytest.fixture
async def no_index(database: Database) -> AsyncIterator[None]:
    """Drop the index, as an attacker would to hide a second contact."""
    async with database.connection() as connection:
        await connection.execute("DROP INDEX contact_ledger_once")
    yield
    async with database.transaction() as tx:
        await tx.execute("DELETE FROM contact_ledger")
        await tx.execute(_INDEX)


def reference(harness: Harness) -> str:
    return str(harness.channels[0].sent[0].communication_id)


@pytest.mark.usefixtures("no_index")
async def test_a_copied_row_is_a_second_contact_whether_sealed_or_not(harness: Harness) -> None:
    await tamper(harness, _COPY)
    [finding] = (await verify(harness)).findings
    assert finding.fault == "CONTACTED_TWICE"
    assert reference(harness) in finding.message
    assert finding.message.endswith("is ACCEPTED 2 times")
    await seal_ledger(harness.resources)
    assert await faults(harness) == ["CONTACTED_TWICE"]


@pytest.mark.usefixtures("no_index")
async def test_a_contact_both_settled_as_sent_and_accepted_counts_twice(harness: Harness) -> None:
    head, _, tail = _COPY.partition("SELECT")
    await tamper(harness, f"{head}SELECT{tail.replace('outcome', _SENT)}")
    assert await faults(harness) == ["CONTACTED_TWICE"]


async def test_the_database_refuses_a_second_accepted_row(harness: Harness) -> None:
    with pytest.raises(UniqueViolationError):
        await tamper(harness, _COPY)


@pytest.mark.parametrize("state", ["PLANNED", "FAILED", "UNKNOWN", "CANCELLED"])
async def test_a_contact_whose_state_was_altered_contradicts_the_ledger(
    harness: Harness, state: str
) -> None:
    await tamper(harness, "UPDATE communications SET state = $2 WHERE merchant_id = $1", state)
    [finding] = (await verify(harness)).findings
    assert finding.fault == "CONTACT_CONTRADICTS"
    assert f"communication {reference(harness)} of claim" in finding.message
    assert finding.message.endswith(f"is {state}, but the ledger says ACCEPTED")


async def test_a_deleted_contact_of_an_existing_claim_is_found(harness: Harness) -> None:
    await tamper(harness, "DELETE FROM communications WHERE merchant_id = $1")
    [finding] = (await verify(harness)).findings
    assert finding.fault == "CONTACT_MISSING"
    assert reference(harness) in finding.message


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        ("body_text", "CONTENT_ALTERED"),
        ("subject", "CONTENT_ALTERED"),
        ("language", "CONTENT_ALTERED"),
        ("recipient", "RECIPIENT_ALTERED"),
    ],
)
async def test_an_altered_message_is_named(harness: Harness, column: str, fault: str) -> None:
    await tamper(
        harness,
        f"UPDATE communication_contents SET {column} = {column} || '.' WHERE merchant_id = $1",
    )
    [finding] = (await verify(harness)).findings
    assert finding.fault == fault
    assert reference(harness) in finding.message


async def test_a_message_altered_with_its_digest_differs_from_the_ledgers(harness: Harness) -> None:
    await tamper(
        harness,
        "UPDATE communications SET content_digest = recipient_digest WHERE merchant_id = $1",
    )
    assert await faults(harness) == ["CONTENT_ALTERED", "CONTENT_ALTERED"]


async def test_the_ledger_verifies_after_a_claim_is_erased(harness: Harness) -> None:
    await tamper(harness, "DELETE FROM claims WHERE merchant_id = $1")
    verdict = await verify(harness)
    assert verdict.findings == ()
    [row] = await harness.rows("SELECT count(*) FROM contact_ledger WHERE merchant_id = $1")
    assert row["count"] == 1


async def test_the_ledger_holds_no_personal_data(harness: Harness) -> None:
    rows = await harness.rows(
        "SELECT to_jsonb(l)::text AS row FROM contact_ledger l WHERE merchant_id = $1"
        " UNION ALL SELECT to_jsonb(a)::text FROM audit_log a WHERE merchant_id = $1"
    )
    text = "".join(row["row"] for row in rows)
    assert len(rows) > 3
    assert [word for word in ("Erika", "Mustermann", "erika@", "INV-1001") if word in text] == []


async def test_a_contact_older_than_the_ledger_is_no_fault(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    await harness.create()
    await harness.run()
    await tamper(harness, "DELETE FROM contact_ledger WHERE merchant_id = $1")
    assert await faults(harness) == ["CONTACT_CONTRADICTS"]
    await tamper(
        harness,
        "UPDATE communications SET content_digest = NULL, recipient_digest = NULL"
        " WHERE merchant_id = $1",
    )
    assert await faults(harness) == []


async def test_a_fault_of_one_merchant_does_not_affect_another(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    other = await a_harness(resources, clock, a_definition(), key="hansen")
    await other.create()
    await other.run()
    await tamper(harness, "UPDATE contact_ledger SET attempts = 9 WHERE merchant_id = $1")
    assert await faults(harness) == ["ROW_ALTERED"]
    assert (await seal_and_verify(other)).findings == ()
