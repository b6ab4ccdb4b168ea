"""Small definitions of workflows for tests."""

import copy
from typing import Any

import msgspec

from dunwell.core.workflows.definition import Definition

DOCUMENT: dict[str, Any] = {
    "settings": {
        "languages": ["de", "en"],
        "currency": "EUR",
        "timezone": "Europe/Berlin",
        "contactHours": {
            "weekdays": ["MON", "TUE", "WED", "THU", "FRI"],
            "from": "09:00",
            "to": "18:00",
        },
        "holidays": {"country": "DE", "subdivision": "HH"},
    },
    "snippets": {"signature": {"de": "Ihr Team", "en": "Your team"}},
    "templates": {
        "reminder": {
            "EMAIL": {
                "subject": {
                    "de": "Erinnerung {{ claim.referenceNumber }}",
                    "en": "Reminder {{ claim.referenceNumber }}",
                },
                "body": {
                    "de": "Guten Tag {{ debtor.name }},\n\n"
                    "bitte zahlen Sie **{{ outstanding }}**:\n{{ landing.url }}",
                    "en": "Dear {{ debtor.name }},\n\nPlease pay **{{ outstanding }}**:\n"
                    "{{ landing.url }}",
                },
            }
        }
    },
    "steps": [
        {
            "id": 1, "name": "First reminder", "kind": "COMMUNICATION",
            "channel": "EMAIL", "template": "reminder",
        },
        {"id": 2, "name": "Wait a week", "kind": "WAIT", "days": 7},
        {"id": 3, "name": "Dunning fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "250"},
        {
            "id": 4, "name": "Ask the ERP", "kind": "CHECKPOINT",
            "offset": 14, "message": "fee window",
        },
        {"id": 5, "name": "Last wait", "kind": "WAIT", "days": 14},
    ],
}  # fmt: skip


def a_document(**changes: Any) -> dict[str, Any]:
    """The usual document with top-level keys replaced."""
    return {**copy.deepcopy(DOCUMENT), **changes}


def a_definition(**changes: Any) -> Definition:
    return msgspec.convert(a_document(**changes), Definition)
