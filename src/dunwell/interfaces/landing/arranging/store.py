"""What pages of a plan or a deferment read with the claim."""

from dunwell.cases.modalities.store import LOAD_ONE, ModalityRow
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.platform.database.sql import compose, nest_row

# One that has ended: what is live comes with every page.
ENDED_MODALITY: Detail[ModalityRow] = Detail(
    nest_row(compose("{one} AND p.ended_at IS NOT NULL", one=LOAD_ONE), *KEY, "$2"),
    ModalityRow, "modality_id", "There is no such request of this claim.",
)  # fmt: skip
