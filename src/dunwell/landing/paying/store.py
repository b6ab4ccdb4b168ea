"""What the pages of a payment read with the claim."""

from dunwell.kit.sql import nest_row
from dunwell.landing.session.details import KEY, Detail
from dunwell.payments.find_request import LOAD_RECEIPT, Receipt

RECEIPT: Detail[Receipt] = Detail(
    nest_row(LOAD_RECEIPT, *KEY, "$2"), Receipt, "request_id",
    "There is no such payment of this claim.",
)  # fmt: skip
