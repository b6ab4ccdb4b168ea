"""A merchant whose rules include every case that a page of rules must distinguish, with names that
contain markup characters."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, Interface, Origin, build_user_actor
from dunwell.accounts.merchants.rights import ALL_RIGHTS
from dunwell.cases.assignment.rules import parse_rules
from dunwell.cases.assignment.rules_draft import publish_rules_draft, save_rules_draft
from tests.support.definitions import a_definition
from tests.support.harness import ERP, Harness

MARKUP = '<b>bold</b> & "quoted" <script>alert(1)</script>'
# A colleague who has a draft and is not signed in.
COLLEAGUE = build_user_actor(str(UUID(int=7)), ALL_RIGHTS, Origin(Interface.PORTAL))
LARGE: Mapping[str, Any] = {
    "name": "Large", "when": {"outstanding": {"min": "50000"}}, "target": "Letters first",
}  # fmt: skip
ABROAD: Mapping[str, Any] = {
    "name": "Austria and Switzerland",
    "when": {"country": ["AT", "CH"], "has": ["email"]},
    "target": "Friendly",
}
TRIAL: Mapping[str, Any] = {
    "name": "Trial of letters",
    "when": {"postalCode": {"startsWith": "20"}},
    "target": [
        {"workflow": "Letters first", "percent": 30}, {"workflow": "Friendly", "percent": 70},
    ],
}  # fmt: skip
HIDDEN: Mapping[str, Any] = {
    "name": "Very large", "when": {"outstanding": {"min": "90000"}}, "target": "Friendly",
}  # fmt: skip
RULES = (LARGE, ABROAD, TRIAL)
# A test of every property.
EVERYTHING: Mapping[str, Any] = {
    "name": f"Everything {MARKUP}",
    "active": False,
    "when": {
        "outstanding": {"min": "1050", "max": "2000000"},
        "total": {"max": "3000000"},
        "age": {"min": 18, "max": 99},
        "primaryAgeDays": {"min": 14},
        "country": ["DE"],
        "language": ["de", "en"],
        "itemType": ["PRIMARY", "DUNNING_FEE"],
        "has": ["address", "email"],
        "email": {"endsWith": "@example.org "},
        "mobileNumber": {"startsWith": "+49"},
        "city": {"startsWith": "Ham", "endsWith": "burg"},
        "postalCode": {"equals": "20459"},
        "customFields": {"shop": f"b {MARKUP}", "tier": "1"},
    },
    "target": "Friendly",
}


async def add_rules(harness: Harness, *rules: Mapping[str, Any], default: str = "Friendly") -> None:
    """Publish two workflows and these rules, without a draft."""
    for name in ("Letters first", "Friendly", f"Texts {MARKUP}"):
        await harness.publish(a_definition(), name)
    await save_draft(harness, *(rules or RULES), default=default)
    async with harness.work() as work:
        await publish_rules_draft(work)


async def save_draft(
    harness: Harness, *rules: Mapping[str, Any], default: str | None = "Friendly", by: Actor = ERP
) -> None:
    """Save a draft in place of any existing one."""
    async with harness.work(by) as work:
        document = parse_rules({"rules": [dict(rule) for rule in rules], "default": default})
        await save_rules_draft(work, document)
