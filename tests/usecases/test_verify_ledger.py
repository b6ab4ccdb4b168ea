"""Every kind of tampering with sealed rows and seals is found and named."""

import dataclasses

import pytest

from dunwell.contact.messages.ledger.seal_ledger import seal_ledger
from dunwell.contact.messages.ledger.store import SealHead
from dunwell.contact.messages.ledger.verify_ledger import verify_ledger
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.ledgers import COLUMNS, faults, seal_and_verify, tamper, verify

_FIRST_ENTRY = "(SELECT min(entry_id::text)::uuid FROM contact_ledger WHERE merchant_id = $1)"
_CLAIMS_OF_SEAL_2 = "(SELECT claim_id FROM contact_ledger WHERE merchant_id = $1 AND seal = 2)"
_FIRST_AUDIT = "(SELECT min(audit_id::text)::uuid FROM audit_log WHERE merchant_id = $1)"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """Return a harness with three contacted persons under two seals."""
    harness = await a_harness(resources, clock, a_definition())
    for name in ("anna", "bert", "carl"):
        await harness.create(name, email=f"{name}@example.org")
        if name != "bert":
            await harness.run()
            await seal_ledger(resources)
    return harness


async def first_entry(harness: Harness) -> str:
    [row] = await harness.rows(f"SELECT {_FIRST_ENTRY} AS entry_id")
    return str(row["entry_id"])


async def test_an_unaltered_ledger_verifies_and_has_a_head(harness: Harness) -> None:
    verdict = await verify(harness)
    assert verdict.findings == ()
    assert verdict.head is not None
    assert (verdict.head.seal, len(verdict.head.digest)) == (2, 32)
    assert verdict.unsealed_rows == 0
    [row] = await harness.rows(
        "SELECT (SELECT count(*) FROM contact_ledger WHERE merchant_id = $1),"
        " (SELECT count(*) FROM audit_log WHERE merchant_id = $1)"
    )
    assert row[0] == 3
    assert verdict.sealed_rows == row[0] + row[1]


@pytest.mark.parametrize(
    "change",
    [
        "outcome = 'REFUSED'",
        "at = at + interval '1 second'",
        "recipient_digest = content_digest",
        "attempts = attempts + 1",
        "digest = content_digest",
        "seal = 2",
    ],
)
async def test_an_altered_row_is_named(harness: Harness, change: str) -> None:
    entry = await first_entry(harness)
    await tamper(
        harness,
        f"UPDATE contact_ledger SET {change} WHERE merchant_id = $1 AND entry_id = {_FIRST_ENTRY}",
    )
    altered = [f for f in (await verify(harness)).findings if f.fault == "ROW_ALTERED"]
    assert [entry in finding.message for finding in altered] == [True]


@pytest.mark.parametrize(
    "change",
    [
        "details = details || '{\"x\": 1}'", "actor_id = 'erp2'", "action = 'hold.open'",
        "before = '{\"x\": 1}'", "after = '{}'", "origin = NULL",
    ],
)  # fmt: skip
async def test_an_altered_audit_row_is_named(harness: Harness, change: str) -> None:
    await tamper(
        harness,
        f"UPDATE audit_log SET {change} WHERE merchant_id = $1 AND audit_id = {_FIRST_AUDIT}",
    )
    [audit] = await harness.rows(f"SELECT {_FIRST_AUDIT} AS audit_id")
    [finding] = (await verify(harness)).findings
    assert (finding.fault, finding.seal) == ("ROW_ALTERED", 1)
    assert f"audit_log {audit['audit_id']}" in finding.message


async def test_a_deleted_contact_row_is_found_by_its_seal_and_its_contact(
    harness: Harness,
) -> None:
    await tamper(
        harness, f"DELETE FROM contact_ledger WHERE merchant_id = $1 AND entry_id = {_FIRST_ENTRY}"
    )
    rows, contact = (await verify(harness)).findings
    assert (rows.fault, rows.seal) == ("ROWS_MISSING", 1)
    assert rows.message == "seal 1 covers 1 rows of contact_ledger; missing: 1"
    assert contact.fault == "CONTACT_CONTRADICTS"
    assert contact.message.endswith("is ACCEPTED, but has no ledger entry")


async def test_a_deleted_audit_row_is_found_by_its_seal(harness: Harness) -> None:
    await tamper(
        harness, f"DELETE FROM audit_log WHERE merchant_id = $1 AND audit_id = {_FIRST_AUDIT}"
    )
    [finding] = (await verify(harness)).findings
    assert (finding.fault, finding.seal) == ("ROWS_MISSING", 1)


async def test_a_row_added_to_a_seal_is_named(harness: Harness) -> None:
    columns = COLUMNS.replace("outcome", "'UNKNOWN'")
    await tamper(
        harness,
        f"INSERT INTO contact_ledger (merchant_id, entry_id, seal, digest, {COLUMNS})"
        f" SELECT merchant_id, gen_random_uuid(), seal, digest, {columns}"
        f" FROM contact_ledger WHERE merchant_id = $1 AND entry_id = {_FIRST_ENTRY}",
    )
    kinds = await faults(harness)
    assert kinds == ["ROW_ALTERED", "ROWS_ADDED", "CONTACT_CONTRADICTS"]


@pytest.mark.parametrize(
    "change", ["digest = decode(repeat('00', 32), 'hex')", "contacts = 0", "audits = audits + 1"]
)
async def test_an_altered_seal_is_named(harness: Harness, change: str) -> None:
    await tamper(harness, f"UPDATE ledger_seals SET {change} WHERE merchant_id = $1 AND seal = 1")
    findings = (await verify(harness)).findings
    assert findings[0].seal == 1
    assert {finding.fault for finding in findings} <= {"SEAL_ALTERED", "ROWS_MISSING", "ROWS_ADDED"}
    # Rows after an altered digest no longer follow from it.
    assert (2 in [finding.seal for finding in findings]) is change.startswith("digest")


async def test_a_seal_removed_from_the_chain_is_named(harness: Harness) -> None:
    await tamper(harness, "DELETE FROM ledger_seals WHERE merchant_id = $1 AND seal = 1")
    findings = (await verify(harness)).findings
    assert (findings[0].fault, findings[0].seal) == ("SEAL_MISSING", 1)
    assert "SEAL_ALTERED" in [finding.fault for finding in findings if finding.seal == 2]


async def test_a_removed_end_of_the_chain_is_found_by_a_stored_head(
    harness: Harness,
) -> None:
    kept = (await verify(harness)).head
    for statement in (
        f"DELETE FROM claims WHERE merchant_id = $1 AND claim_id IN {_CLAIMS_OF_SEAL_2}",
        "DELETE FROM contact_ledger WHERE merchant_id = $1 AND seal = 2",
        "DELETE FROM audit_log WHERE merchant_id = $1 AND seal = 2",
        "DELETE FROM ledger_seals WHERE merchant_id = $1 AND seal = 2",
    ):
        await tamper(harness, statement)
    assert await faults(harness) == []
    verdict = await verify_ledger(harness.resources, harness.merchant.merchant_id, kept)
    [finding] = verdict.findings
    assert (finding.fault, finding.seal) == ("HEAD_MISSING", 2)
    assert finding.message.endswith("the chain ends with seal 1: its tail was cut off")


async def test_a_removed_last_seal_is_found_by_its_contacts_and_rows(harness: Harness) -> None:
    await tamper(harness, "DELETE FROM ledger_seals WHERE merchant_id = $1 AND seal = 2")
    assert set(await faults(harness)) == {"SEAL_MISSING"}
    await tamper(harness, "DELETE FROM contact_ledger WHERE merchant_id = $1 AND seal = 2")
    assert "CONTACT_CONTRADICTS" in await faults(harness)


async def test_a_rebuilt_chain_lacks_the_stored_head(harness: Harness) -> None:
    kept = (await verify(harness)).head
    assert kept is not None
    for table in ("contact_ledger", "audit_log"):
        await tamper(
            harness, f"UPDATE {table} SET seal = NULL, digest = NULL WHERE merchant_id = $1"
        )
    await tamper(harness, "DELETE FROM ledger_seals WHERE merchant_id = $1")
    assert (await seal_and_verify(harness)).findings == ()
    for expected in (kept, SealHead(1, kept.digest)):
        verdict = await verify_ledger(harness.resources, harness.merchant.merchant_id, expected)
        assert [finding.fault for finding in verdict.findings] == ["HEAD_MISSING"]


async def test_an_older_head_stays_valid_while_the_chain_grows(harness: Harness) -> None:
    kept = (await verify(harness)).head
    await harness.create("dora", email="dora@example.org")
    await harness.run()
    await seal_ledger(harness.resources)
    verdict = await verify_ledger(harness.resources, harness.merchant.merchant_id, kept)
    assert verdict.findings == ()
    assert verdict.head is not None
    assert verdict.head.seal == 3


async def test_the_ledger_does_not_verify_with_another_key(harness: Harness) -> None:
    other = dataclasses.replace(
        harness.resources, keys=KeyRing({1: b"another key, which is long enough"})
    )
    verdict = await verify_ledger(other, harness.merchant.merchant_id)
    assert verdict.fault_count >= verdict.sealed_rows
