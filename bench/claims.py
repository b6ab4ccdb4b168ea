"""The claims that are created, all alike but for their reference numbers of equal length. Pure."""

from typing import Any

import msgspec

from dunwell.intake.submission import ClaimSubmission

REFERENCE_LENGTH = 16


def reference_of(number: int) -> str:
    return f"RE-2026-{number:08d}"


def make_document(number: int) -> dict[str, Any]:
    """A claim as JSON data: a debtor with contacts and address, one item."""
    reference = reference_of(number)
    return {
        "referenceNumber": reference,
        "currency": "EUR",
        "debtorName": "Erika",
        "debtorLastName": "Mustermann",
        "email": "erika.mustermann@example.org",
        "mobileNumber": "+4915112345678",
        "language": "de",
        "customerNumber": "K-4711",
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
    """A request's body; its length hangs on the count of numbers alone."""
    return msgspec.json.encode([make_document(number) for number in numbers])
