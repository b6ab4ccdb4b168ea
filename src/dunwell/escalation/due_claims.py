"""Which claims are due and what deciding their next steps needs: SQL in, values out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.claims.conditions import ConditionFacts
from dunwell.claims.states import Status
from dunwell.escalation.reach import find_usable_channels, has_postal_address
from dunwell.escalation.schedule import Position, Process, StepFacts, Tried
from dunwell.escalation.usable_channels import Addresses, load_usable_channels
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection, Row
from dunwell.kit.sql import load_statement
from dunwell.merchants.account import Merchant
from dunwell.merchants.configuration import Channel

_LOAD_FACTS = load_statement(__file__, "engine_facts.sql")

# Merchants behind the given one first, so that each gets its turn. Rides on claims_due.
_FIND_MERCHANTS = """
SELECT m.merchant_id
FROM merchants m
WHERE EXISTS (
    SELECT FROM claims c
    WHERE c.merchant_id = m.merchant_id
      AND c.due_at <= coalesce(m.sandbox_now, $1)
      AND NOT c.held)
ORDER BY m.merchant_id <= $2, m.merchant_id
LIMIT $3
"""

# What another engine has locked is left to it. Rides on claims_due.
_LOCK_SET = """
SELECT claim_id
FROM claims
WHERE merchant_id = $1 AND due_at <= $2 AND NOT held AND ($4::bigint IS NULL OR claim_id = $4)
ORDER BY due_at
LIMIT $3
FOR NO KEY UPDATE SKIP LOCKED
"""
_FIND_DUE = """
SELECT c.claim_id
FROM claims c
JOIN merchants m USING (merchant_id)
WHERE c.merchant_id = $1 AND c.due_at <= coalesce(m.sandbox_now, $2) AND NOT c.held
ORDER BY c.due_at
LIMIT $3
"""


@dataclass(frozen=True, slots=True)
class DueClaim:
    """A claim with what deciding its step needs; to the engine one that is due and locked."""

    claim_id: int
    reference_number: str
    customer_number: str | None
    currency: str
    status: Status
    # Workflow and major.
    process_key: tuple[UUID, int]
    run: int
    position: Position
    event_sequence: int
    next_item_position: int
    # The channels by which the debtor can be contacted now.
    usable_channels: frozenset[Channel]
    row: Row

    def step_facts(self, today: date) -> StepFacts:
        """What the steps ask, on a day in the process's zone."""
        row, address = self.row, self.row["address"] or {}
        return StepFacts(
            condition=ConditionFacts(
                outstanding_cents=row["outstanding_cents"],
                total_cents=row["total_cents"],
                today=today,
                first_primary_on=row["first_primary_on"],
                item_types=frozenset(row["item_types"]),
                date_of_birth=row["date_of_birth"],
                language=row["language"],
                country=address.get("country"),
                city=address.get("city"),
                postal_code=address.get("postal_code"),
                email=row["email"],
                mobile_number=row["mobile_number"],
                has_address=has_postal_address(address),
                custom_fields=row["custom_fields"] or {},
            ),
            has_reached=row["has_reached"],
            usable_channels=self.usable_channels,
            tried=Tried(frozenset(row["tried_channels"] or ()), row["next_place"]),
        )


def find_position(process: Process, claim: DueClaim) -> Position:
    """A claim that has not begun begins with what is first now: its scenario may have been edited
    while it was created."""
    if claim.status is Status.CREATED:
        return Position(process.id_at(0), claim.position.due_at)
    return claim.position


async def find_due_merchants(
    tx: Connection, now: datetime, behind_merchant_id: int, limit: int
) -> list[int]:
    """Merchants with due claims, those with greater ids than the given one first."""
    rows = await tx.fetch(_FIND_MERCHANTS, now, behind_merchant_id, limit)
    return [row["merchant_id"] for row in rows]


async def find_due_claims(tx: Connection, merchant_id: int, now: datetime, limit: int) -> list[int]:
    """Ids of due claims, the longest due first; nothing is locked."""
    return [row["claim_id"] for row in await tx.fetch(_FIND_DUE, merchant_id, now, limit)]


async def load_due_claims(
    tx: Connection,
    keys: KeyRing,
    merchant: Merchant,
    now: datetime,
    limit: int,
    claim_id: int | None = None,
) -> list[DueClaim]:
    """Lock and load one set of a merchant's due claims, or one claim if it is due, leaving out
    what others have locked."""
    merchant_id = merchant.merchant_id
    locked = await tx.fetch(_LOCK_SET, merchant_id, now, limit, claim_id)
    if not locked:
        return []
    return await load_claims(tx, keys, merchant, [row["claim_id"] for row in locked])


async def load_claims(
    tx: Connection, keys: KeyRing, merchant: Merchant, claim_ids: Sequence[int]
) -> list[DueClaim]:
    """Claims by id, in its order, due or not; nothing is locked."""
    rows = await tx.fetch(_LOAD_FACTS, merchant.merchant_id, claim_ids)
    usable = await _load_usable(tx, keys, merchant, rows)
    return [_read(row, usable[row["claim_id"]]) for row in rows]


async def _load_usable(
    tx: Connection, keys: KeyRing, merchant: Merchant, rows: Sequence[Row]
) -> dict[int, frozenset[Channel]]:
    """Suppressions are asked for only by merchants that have any."""
    if any(row["has_suppressions"] for row in rows):
        debtors = {
            row["claim_id"]: Addresses(row["email"], row["mobile_number"], row["address"])
            for row in rows
        }
        return await load_usable_channels(tx, keys, merchant, debtors)
    return {
        row["claim_id"]: find_usable_channels(
            merchant.configuration.channels,
            email=row["email"],
            mobile_number=row["mobile_number"],
            address=row["address"],
        )
        for row in rows
    }


def _read(row: Row, usable_channels: frozenset[Channel]) -> DueClaim:
    return DueClaim(
        claim_id=row["claim_id"],
        reference_number=row["reference_number"],
        customer_number=row["customer_number"],
        currency=row["currency"],
        status=Status(row["status"]),
        process_key=(row["workflow_id"], row["workflow_major"]),
        run=row["run"],
        position=Position(row["next_step_id"], row["due_at"]),
        event_sequence=row["event_sequence"],
        next_item_position=row["next_position"],
        usable_channels=usable_channels,
        row=row,
    )
