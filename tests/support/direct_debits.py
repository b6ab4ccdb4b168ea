"""Direct debits for tests: a creditor, and orders for the bank."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from dunwell.cases.direct_debit.order import DebitOrder, OrderAccount, OrderBatch, OrderedDebit

# The example of the European Payments Council.
CREDITOR_ID = "DE98ZZZ09999999999"
CREDITOR_ACCOUNT = OrderAccount("Teekontor Hansen GmbH", "DE89370400440532013000", "COBADEFFXXX")
DEBTOR_IBAN = "DE02120300000000202051"


def build_debit(cents: int, holder: str = "Jürgen Weiß") -> OrderedDebit:
    return OrderedDebit(
        end_to_end_id=f"E{cents}",
        amount_cents=cents,
        mandate_reference="12-000000000ABC",
        signed_on=date(2026, 11, 27),
        debtor=OrderAccount(holder, DEBTOR_IBAN),
        purpose="R-2026-0001, Rate 1",
    )


def build_order(batches: Sequence[OrderBatch]) -> DebitOrder:
    return DebitOrder(
        "DD1", datetime(2026, 11, 27, 8, tzinfo=UTC), CREDITOR_ID, CREDITOR_ACCOUNT, batches
    )
