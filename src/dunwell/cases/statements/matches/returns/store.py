"""The SQL that finds the original entries of returned payments."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from dunwell.platform.database.database import Connection, Row

# Payments that arrived with these end-to-end ids and were matched, part by part. Uses
# bank_transactions_end_to_end, bank_matches_transaction, bank_matches_undone and primary keys.
_FIND_ORIGINALS = """
SELECT t.entry_id, t.number, t.end_to_end_id, t.amount_cents, t.currency, t.booked_on, m.claim_id,
       c.reference_number, m.payment_id, m.amount_cents AS part_cents,
       p.amount_cents - p.returned_cents AS left_cents
FROM bank_transactions t
JOIN bank_matches m ON m.merchant_id = $1 AND m.entry_id = t.entry_id AND m.number = t.number
JOIN payments p ON p.merchant_id = $1 AND p.payment_id = m.payment_id
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE t.merchant_id = $1 AND t.end_to_end_id = ANY($2::text[]) AND t.amount_cents > 0
  AND m.kind = 'MATCHED'
  AND NOT EXISTS (SELECT FROM bank_matches u WHERE u.merchant_id = $1 AND u.undoes = m.match_id)
ORDER BY t.entry_id, t.number, m.match_id
"""


@dataclass(frozen=True, slots=True)
class OriginalPart:
    """The part of an original entry that was booked as one payment."""

    claim_id: int
    reference_number: str
    payment_id: UUID
    amount_cents: int
    # The money of the payment that was not returned yet.
    left_cents: int


@dataclass(frozen=True, slots=True)
class OriginalEntry:
    """The transaction whose money a return takes back, with the payments that were booked of it."""

    entry_id: UUID
    number: int
    end_to_end_id: str
    amount_cents: int
    currency: str
    booked_on: date
    parts: tuple[OriginalPart, ...]

    @property
    def left_cents(self) -> int:
        return sum(each.left_cents for each in self.parts)

    @property
    def is_booked_whole(self) -> bool:
        """Whether all of its money was booked as payments."""
        return sum(each.amount_cents for each in self.parts) == self.amount_cents


async def find_original_entries(
    tx: Connection, merchant_id: int, end_to_end_ids: Collection[str]
) -> list[OriginalEntry]:
    """Return the transactions with one of these ids that were booked, with their payments. Matches
    that were undone are left out."""
    found: dict[tuple[UUID, int], list[Row]] = {}
    for row in await tx.fetch(_FIND_ORIGINALS, merchant_id, sorted(end_to_end_ids)):
        found.setdefault((row["entry_id"], row["number"]), []).append(row)
    return [_build_original(rows) for rows in found.values()]


def _build_original(rows: Sequence[Row]) -> OriginalEntry:
    first = rows[0]
    return OriginalEntry(
        entry_id=first["entry_id"],
        number=first["number"],
        end_to_end_id=first["end_to_end_id"],
        amount_cents=first["amount_cents"],
        currency=first["currency"],
        booked_on=first["booked_on"],
        parts=tuple(
            OriginalPart(
                row["claim_id"], row["reference_number"], row["payment_id"],
                amount_cents=row["part_cents"], left_cents=row["left_cents"],
            )
            for row in rows
        ),
    )  # fmt: skip
