"""List the payouts of payment providers, and explain one: the movements that it consists of, the
fees, and the entry of the bank statement with which it arrived."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.provider import INCOMING
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.database.listed_table import ListedTable, ListPage
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import NotFound

# Uses provider_payouts_merchant_id_record_id_key, and primary keys.
_LOAD = """
SELECT p.record_id, p.provider, p.payout_id, p.amount_cents, p.fees_cents, p.currency, p.paid_at,
       p.movements, p.recorded_at, p.arrived_at, e.account, e.statement_hash, t.booked_on
FROM provider_payouts p
LEFT JOIN bank_transactions t
    ON t.merchant_id = $1 AND t.entry_id = p.entry_id AND t.number = p.number
LEFT JOIN bank_entries e ON e.merchant_id = $1 AND e.entry_id = p.entry_id
WHERE p.merchant_id = $1 AND p.record_id = ANY($2::uuid[])
"""
# Uses the primary keys of payment_movements and claims.
_LIST_MOVEMENTS = """
SELECT m.record_id, m.movement_id, m.kind, m.claim_id, c.reference_number, m.payment_id
FROM payment_movements m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE m.merchant_id = $1 AND m.provider = $2 AND m.movement_id = ANY($3::text[])
ORDER BY m.recorded_at, m.record_id
"""


@dataclass(frozen=True, slots=True)
class PayoutArrival:
    """The line of a bank statement with which a payout arrived."""

    account: str
    statement_hash: bytes
    booked_on: date


@dataclass(frozen=True, slots=True)
class ListedPayout:
    record_id: UUID
    # The name of the provider's account.
    provider: str
    # The provider's id.
    payout_id: str
    # What arrives, after the fees. Negative if the provider takes money back.
    amount_cents: int
    fees_cents: int
    currency: str
    # When the payout is expected to arrive.
    paid_at: datetime
    # The provider's id of each movement, and its cents. Empty if the provider does not list them.
    movements: Sequence[tuple[str, int]]
    recorded_at: datetime
    # When the payout was found on a statement. None if it is awaited.
    arrived_at: datetime | None
    # None if the payout is awaited, or if its line is not known.
    arrival: PayoutArrival | None

    @property
    def moved_cents(self) -> int:
        return sum(cents for _, cents in self.movements)

    @property
    def difference_cents(self) -> int:
        """The part of the amount that the movements and fees do not explain."""
        return self.amount_cents - (self.moved_cents - self.fees_cents)


@dataclass(frozen=True, slots=True)
class ExplainedMovement:
    """A movement of one of the merchant's claims in a payout. `amount_cents` is negative for money
    that was given back."""

    record_id: UUID
    movement_id: str
    kind: str
    amount_cents: int
    claim_id: int
    reference_number: str
    payment_id: UUID | None


@dataclass(frozen=True, slots=True)
class ExplainedPayout:
    """A payout with the movements of the merchant's claims. The other movements can belong to
    another merchant that uses the same account, or to sales outside Dunwell; only their number and
    sum are given."""

    payout: ListedPayout
    movements: Sequence[ExplainedMovement]
    other_count: int
    other_cents: int


@dataclass(frozen=True, slots=True)
class PayoutFilter:
    """All given conditions must match. `since` (inclusive) and `until` (exclusive) apply to the
    time of recording."""

    # The name of the provider's account.
    account: str | None = None
    has_arrived: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


async def load_payouts(
    tx: Connection, merchant_id: int, record_ids: Collection[UUID]
) -> Mapping[UUID, ListedPayout]:
    """Return the payouts by their record id."""
    found = {}
    for row in await tx.fetch(_LOAD, merchant_id, list(record_ids)):
        values = dict(row)
        account, statement = values.pop("account"), values.pop("statement_hash")
        booked_on = values.pop("booked_on")
        arrival = None if account is None else PayoutArrival(account, statement, booked_on)
        movements = [(str(name), int(cents)) for name, cents in values.pop("movements")]
        found[row["record_id"]] = ListedPayout(**values, movements=movements, arrival=arrival)
    return found


PAYOUTS: ListedTable[PayoutFilter, UUID, ListedPayout] = ListedTable(
    name="payouts",
    table="provider_payouts",
    key="record_id",
    key_type="uuid",
    index="provider_payouts_list",
    at="recorded_at",
    filter=PayoutFilter,
    filters={
        "account": "l.provider = {}",
        "has_arrived": "(l.arrived_at IS NOT NULL) = {}",
    },
    load=load_payouts,
)
ALL_PAYOUTS = PayoutFilter()


async def list_payouts(
    work: Work, *, limit: int, cursor: str | None = None, wanted: PayoutFilter = ALL_PAYOUTS
) -> ListPage[ListedPayout]:
    """List payouts, the latest recorded first. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(work.scope(), PAYOUTS, wanted, limit=limit, cursor=cursor)


async def explain_payout(work: Work, record_id: UUID) -> ExplainedPayout:
    """Return a payout with what it consists of. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        payout = (await load_payouts(work.tx, work.merchant_id, [record_id])).get(record_id)
        if payout is None:
            raise NotFound(f"There is no payout {record_id}.")
        ids = sorted({name for name, _ in payout.movements})
        rows = await work.tx.fetch(_LIST_MOVEMENTS, work.merchant_id, payout.provider, ids)
    # A refund that failed has the same id as the refund, so the direction distinguishes them.
    known = {(row["movement_id"], row["kind"] in INCOMING): row for row in reversed(rows)}
    own, others = [], []
    for name, cents in payout.movements:
        row = known.get((name, cents > 0))
        if row is None:
            others.append(cents)
        else:
            own.append(ExplainedMovement(**row, amount_cents=cents))
    return ExplainedPayout(payout, own, len(others), sum(others))
