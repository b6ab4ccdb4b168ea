"""Claims in the form in which a merchant submits them."""

import copy
from typing import Any

import msgspec

from dunwell.cases.intake.submission import ClaimSubmission

DOCUMENT: dict[str, Any] = {
    "referenceNumber": "INV-1001",
    "currency": "EUR",
    "debtorName": "Erika",
    "debtorLastName": "Mustermann",
    "email": "erika@example.org",
    "items": [
        {
            "reference": "INV-1001",
            "type": "PRIMARY",
            "value": "10240",
            "itemDate": "2026-01-10",
            "dueDate": "2026-02-10",
        }
    ],
}


def a_claim(reference: str = "INV-1001", **changes: Any) -> dict[str, Any]:
    """Return the usual claim as JSON data. A change to None removes the field."""
    claim = {**copy.deepcopy(DOCUMENT), "referenceNumber": reference, **changes}
    return {name: value for name, value in claim.items() if value is not None}


def a_submission(reference: str = "INV-1001", **changes: Any) -> ClaimSubmission:
    return msgspec.convert(a_claim(reference, **changes), ClaimSubmission)
