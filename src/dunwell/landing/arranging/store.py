"""What pages of a plan or a deferment read with the claim; to whom its answer is told."""

from dataclasses import dataclass

from dunwell.kit.db import Connection
from dunwell.kit.sql import compose, nest_row
from dunwell.landing.session.details import KEY, Detail
from dunwell.modalities.store import LOAD_ONE, ModalityRow

# By primary key.
_LOAD_CORRESPONDENT = """
SELECT email, language
FROM debtors
WHERE merchant_id = $1 AND claim_id = $2
"""
# One that has ended: what is live comes with every page.
ENDED_MODALITY: Detail[ModalityRow] = Detail(
    nest_row(compose("{one} AND p.ended_at IS NOT NULL", one=LOAD_ONE), *KEY, "$2"),
    ModalityRow, "modality_id", "There is no such request of this claim.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Correspondent:
    """Where a claim's debtor gets e-mail, and the claim's language."""

    email: str | None
    language: str | None


async def load_correspondent(
    tx: Connection, merchant_id: int, claim_id: int
) -> Correspondent | None:
    row = await tx.fetchrow(_LOAD_CORRESPONDENT, merchant_id, claim_id)
    return None if row is None else Correspondent(row["email"], row["language"])
