"""The SQL of rollout: what refers to workflows, which claims run on them, and recent claims as
samples."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.store import find_published_rules, find_rules_draft
from dunwell.contact.escalation.forecast.running_claim import AwaitedContact, RunningClaim
from dunwell.contact.escalation.store import load_claims
from dunwell.core.claims.fields import DebtorName
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Row

# Reads all claims of the merchant, but runs rarely and only for an operator.
_COUNT_ACTIVE = """
SELECT workflow_id, workflow_major, COUNT(*) AS claims
FROM claims
WHERE merchant_id = $1
    AND workflow_id IS NOT NULL
    AND ($2::uuid IS NULL OR workflow_id = $2)
    AND status IN ('CREATED', 'IN_PROCESS')
GROUP BY workflow_id, workflow_major
ORDER BY workflow_id, workflow_major
"""

# Reads the index claims_running once per version, and stops at the limit.
_COUNT_RUNNING = """
SELECT wanted.workflow_id, wanted.major, counted.claims
FROM UNNEST($2::uuid[], $3::integer[]) AS wanted (workflow_id, major)
CROSS JOIN LATERAL (
    SELECT COUNT(*) AS claims
    FROM (
        SELECT
        FROM claims
        WHERE merchant_id = $1
            AND workflow_id = wanted.workflow_id
            AND workflow_major = wanted.major
            AND status IN ('CREATED', 'IN_PROCESS')
        LIMIT $4
    ) AS found
) AS counted
"""

# (workflow id, major version) -> number of active claims.
RunningCounts = Mapping[tuple[UUID, int], int]


async def count_running(
    tx: Connection, merchant_id: int, majors: Sequence[tuple[UUID, int]], *, limit: int
) -> RunningCounts:
    """Count the active claims of each of these major versions (workflow id, major version), up to
    `limit`."""
    rows = await tx.fetch(
        _COUNT_RUNNING, merchant_id, [workflow_id for workflow_id, _ in majors],
        [major for _, major in majors], limit,
    )  # fmt: skip
    return {(row["workflow_id"], row["major"]): row["claims"] for row in rows}


async def count_active_claims(
    tx: Connection, merchant_id: int, workflow_id: UUID | None = None
) -> dict[UUID, dict[int, int]]:
    """Return the number of active claims: workflow id -> major version -> number. With
    `workflow_id`, count only the claims of that workflow."""
    counts: dict[UUID, dict[int, int]] = {}
    for row in await tx.fetch(_COUNT_ACTIVE, merchant_id, workflow_id):
        counts.setdefault(row["workflow_id"], {})[row["workflow_major"]] = row["claims"]
    return counts


async def load_rule_sets(tx: Connection, merchant_id: int) -> Mapping[str, RuleSet]:
    """Return the published rules and the draft under "published" and "draft", as far as they
    exist."""
    published = await find_published_rules(tx, merchant_id)
    draft = await find_rules_draft(tx, merchant_id)
    versions = {"published": published, "draft": draft}
    return {state: each.rules for state, each in versions.items() if each is not None}


PAGE_SIZE = 1_000

# Read once per preview through the merchant's part of the primary keys, and sorted in memory.
_SELECT_BY_PERSON = """
SELECT c.claim_id,
    coalesce(
        'C' || nullif(btrim(lower(d.customer_number)), ''),
        'E' || lower(d.email),
        'N' || d.mobile_number,
        'I' || c.claim_id
    ) COLLATE "C" AS person
FROM claims c
JOIN debtors d ON d.merchant_id = c.merchant_id AND d.claim_id = c.claim_id
WHERE c.merchant_id = $1
    AND c.workflow_id = $2
    AND c.workflow_major = $3
    AND c.status IN ('CREATED', 'IN_PROCESS')
ORDER BY person, c.claim_id
"""

# Reads the key (merchant_id, claim_id, hold_id) of holds once per claim. `until` is null for a hold
# without an end.
_LOAD_HOLDS = """
SELECT claim_id, CASE WHEN bool_and(until IS NOT NULL) THEN max(until) END AS until
FROM holds
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND lifted_at IS NULL
GROUP BY claim_id
"""

# Reads the key (merchant_id, claim_id, run, ...) of communications once per claim that is not due.
_LOAD_OPEN_CONTACTS = """
SELECT DISTINCT ON (m.claim_id) m.claim_id, m.step_id, m.place, m.channel, m.state, m.not_before
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id AND c.run = m.run
WHERE m.merchant_id = $1
    AND m.claim_id = ANY($2::bigint[])
    AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING', 'HANDED_OVER', 'UNKNOWN')
ORDER BY m.claim_id, m.step_id DESC, m.place DESC
"""


async def iterate_persons(
    tx: Connection, keys: KeyRing, merchant: Merchant, workflow_key: tuple[UUID, int],
    *, page_size: int = PAGE_SIZE,
) -> AsyncIterator[list[RunningClaim]]:  # fmt: skip
    """Yield the claims of a workflow's major version, in lists of about one page that never
    separate the claims of a person.

    Persons are distinguished by customer number, or else e-mail address, or else phone number. A
    cursor keeps memory constant. The caller must be in a transaction; at isolation level repeatable
    read, all pages share its snapshot.
    """
    cursor = await tx.cursor(_SELECT_BY_PERSON, merchant.merchant_id, *workflow_key)
    kept: list[RunningClaim] = []
    while rows := await cursor.fetch(page_size):
        kept += await _load_page(tx, keys, merchant, rows)
        last = kept[-1].person if kept else ""
        complete = [claim for claim in kept if claim.person != last]
        if complete:
            yield complete
            kept = kept[len(complete) :]
    if kept:
        yield kept


async def _load_page(
    tx: Connection, keys: KeyRing, merchant: Merchant, rows: Sequence[Row]
) -> list[RunningClaim]:
    merchant_id, persons = merchant.merchant_id, {row["claim_id"]: row["person"] for row in rows}
    claims = {c.claim_id: c for c in await load_claims(tx, keys, merchant, list(persons))}
    holds = {
        row["claim_id"]: row["until"]
        for row in await tx.fetch(_LOAD_HOLDS, merchant_id, list(persons))
    }
    waiting = [c.claim_id for c in claims.values() if c.position.due_at is None]
    contacts = {
        row["claim_id"]: AwaitedContact(
            step_id=row["step_id"],
            place=row["place"],
            channel=row["channel"],
            state=row["state"],
            not_before=row["not_before"],
        )
        for row in (await tx.fetch(_LOAD_OPEN_CONTACTS, merchant_id, waiting) if waiting else ())
    }
    return [
        RunningClaim(
            facts=claims[claim_id],
            person=person,
            is_held=claim_id in holds,
            held_until=holds.get(claim_id),
            open_contact=contacts.get(claim_id),
        )
        for claim_id, person in persons.items()
        if claim_id in claims
    ]


# Uses the primary key of claims backwards, then those of debtors and items.
_LIST_RECENT = """
SELECT newest.claim_id, newest.reference_number, newest.currency,
    d.salutation, d.first_name, d.last_name, d.company_name, d.mobile_number, d.language,
    d.customer_number, d.contract_number,
    (SELECT coalesce(sum(i.value_cents), 0)::bigint
     FROM items i
     WHERE i.merchant_id = $1 AND i.claim_id = newest.claim_id) AS total_cents
FROM (
    SELECT claim_id, reference_number, currency
    FROM claims
    WHERE merchant_id = $1
    ORDER BY claim_id DESC
    LIMIT $2
) AS newest
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = newest.claim_id
ORDER BY newest.claim_id DESC
"""


class RecentClaim(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    claim_id: int
    reference_number: str
    currency: str
    debtor: DebtorName
    mobile_number: str | None
    language: str | None
    customer_number: str | None
    contract_number: str | None
    total_cents: int


async def list_recent_claims(tx: Connection, merchant_id: int, limit: int) -> Sequence[RecentClaim]:
    """Return the merchant's most recent claims, newest first."""
    rows = await tx.fetch(_LIST_RECENT, merchant_id, limit)
    return [_build_recent_claim(dict(row)) for row in rows]


def _build_recent_claim(values: dict[str, Any]) -> RecentClaim:
    names = {name: values.pop(name) for name in DebtorName.__struct_fields__}
    return RecentClaim(debtor=DebtorName(**names), **values)
