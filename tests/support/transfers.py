"""Merchants that accept bank transfers and partial payments, and claims with several items."""

from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import (
    BankAccount,
    Configuration,
    PartialPaymentSettings,
)
from tests.support.payments import PAYING

# EPC069-12 requires a BIC only outside the EEA. With a BIC, the page shows every line.
ACCOUNT = BankAccount("DE02120300000000202051", "Nordwind Schuhe GmbH", "BYLADEM1001")
THREE_ITEMS: dict[str, Any] = {
    "items": [
        {"reference": "R-1", "type": "PRIMARY", "value": "6000", "dueDate": "2026-02-01"},
        {"reference": "R-2", "type": "PRIMARY", "value": "4000", "dueDate": "2026-02-02"},
        {"reference": "M-1", "type": "DUNNING_FEE", "value": "240"},
    ]
}


def nordwind_with_account(
    partial: PartialPaymentSettings | None = None, *, account: BankAccount | None = ACCOUNT
) -> Configuration:
    """Return Nordwind with the sandbox payment provider and a bank account."""
    payment = msgspec.structs.replace(PAYING.payment, bank_account=account, partial=partial)
    return msgspec.structs.replace(PAYING, payment=payment)
