"""The SQL of running claims, in pages. Nothing is locked.

They come in the order of their persons (customer number, else e-mail address, else number), read
through a cursor, so that memory stays the same whatever their number.
"""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.forecast.running_claims import AwaitedContact, RunningClaim
from dunwell.contact.escalation.store import load_claims
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Row

PAGE_SIZE = 1_000

# Read once for a preview, through the merchant's part of the primary keys, and sorted there.
_SELECT = """
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

# One look for each claim into holds (merchant_id, claim_id, hold_id). No end: held without one.
_LOAD_HOLDS = """
SELECT claim_id, CASE WHEN bool_and(until IS NOT NULL) THEN max(until) END AS until
FROM holds
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND lifted_at IS NULL
GROUP BY claim_id
"""

# One look for each claim that is not due into communications (merchant_id, claim_id, run, ...).
_LOAD_OPEN = """
SELECT DISTINCT ON (m.claim_id) m.claim_id, m.step_id, m.place, m.channel, m.state, m.not_before
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id AND c.run = m.run
WHERE m.merchant_id = $1
    AND m.claim_id = ANY($2::bigint[])
    AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING', 'HANDED_OVER', 'UNKNOWN')
ORDER BY m.claim_id, m.step_id DESC, m.place DESC
"""


async def iterate_persons(
    tx: Connection, keys: KeyRing, merchant: Merchant, process_key: tuple[UUID, int],
    *, page_size: int = PAGE_SIZE,
) -> AsyncIterator[list[RunningClaim]]:  # fmt: skip
    """All claims on a workflow's major, in lists of about a page that part no person's claims.

    Must run in an open transaction, whose snapshot all pages share when it is repeatable read.
    """
    cursor = await tx.cursor(_SELECT, merchant.merchant_id, *process_key)
    kept: list[RunningClaim] = []
    while rows := await cursor.fetch(page_size):
        kept += await _load_page(tx, keys, merchant, rows)
        last = kept[-1].person if kept else ""
        whole = [claim for claim in kept if claim.person != last]
        if whole:
            yield whole
            kept = kept[len(whole) :]
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
        for row in (await tx.fetch(_LOAD_OPEN, merchant_id, waiting) if waiting else ())
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
