"""The claims that are created. They differ only in their numbers, and all have the same length.
Pure."""

from typing import Any

import msgspec

from dunwell.cases.intake.submission import ClaimSubmission

REFERENCE_LENGTH = 16


def reference_of(number: int) -> str:
    return f"RE-2026-{number:08d}"


def make_document(number: int) -> dict[str, Any]:
    """Return a claim as JSON data: a debtor with contact data and an address, and one item. Each
    claim has its own debtor, because one person is not contacted for many claims on one day."""
    reference = reference_of(number)
    return {
        "referenceNumber": reference,
        "currency": "EUR",
        "debtorName": "Erika",
        "debtorLastName": "Mustermann",
        "email": f"erika.{number:08d}@example.org",
        "mobileNumber": f"+49151{number:08d}",
        "language": "de",
        "customerNumber": f"K-{number:08d}",
        "address": {
            "street": "Heidestraße 17",
            "postalCode": "51147",
            "city": "Köln",
            "country": "DE",
        },
        "items": [
            {
                "reference": reference,
                "type": "PRIMARY",
                "value": "10240",
                "itemDate": "2026-01-15",
                "dueDate": "2026-01-29",
            }
        ],
    }


def make_submission(number: int) -> ClaimSubmission:
    return msgspec.convert(make_document(number), ClaimSubmission)


def make_body(numbers: range) -> bytes:
    """Return a request's body. Its length depends only on the number of claims."""
    return msgspec.json.encode([make_document(number) for number in numbers])
