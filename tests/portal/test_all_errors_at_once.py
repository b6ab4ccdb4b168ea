"""A form with an error in every field shows all of them in one response."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields, sign_in

_LINE_BREAK = "two\nlines"
_CONTROL = "a\x07b"
_BANK = "payment.bankAccount"
_CONDITION = {
    "when.outstanding.min": "nothing", "when.total.max": "much", "when.age.min": "old",
    "when.country": "Germany",
}  # fmt: skip
# Path -> the fields, each with an invalid value.
_FORMS: Mapping[str, Mapping[str, Any]] = {
    "/suppressions": {"address": "no address", "reason": ""},
    "/credentials": {"name": "", "scope": [], "requestsPerMinute": "many"},
    "/settings/webhooks": {
        "url": "ftp://example.org", "events": ["no.event"], "authorization": _CONTROL,
    },
    "/settings/account": {"name": "", "language": "klingon", "timezone": "Moon"},
    "/settings/contact": {"contact.email": "", "contact.phone": _CONTROL},
    "/settings/privacy": {"privacy.retention.recordYears": "many", "privacy.controller": _CONTROL},
    "/settings/payment": {
        f"{_BANK}.iban": "DE00", f"{_BANK}.bic": "?", "payment.partial.min": "nothing",
    },
    "/settings/offers": {
        "modalities.plan.counts": "many", "modalities.plan.minRate": "nothing",
        "modalities.deferment.maxDays": "99999",
    },
    "/claims/{claim}/payment": {"amount": "nothing", "on": "31.31.2026", "number": _LINE_BREAK},
    "/claims/{claim}/dispute": {"reason": "", "message": _CONTROL},
    "/claims/{claim}/pause": {"until": "yesterday", "reason": _LINE_BREAK},
    "/claims/{claim}/contact": {
        "email": "no address", "mobileNumber": "12", "country": "Germany", "language": "klingon",
        "dateOfBirth": "never", "debtorName": _CONTROL,
    },
    "/answer-texts": {"name": _CONTROL, "text": ""},
    "/workflows/{workflow}/steps/1": {"channel": "PIGEON", **_CONDITION},
    "/workflows/{workflow}/steps/2": {"days": "many", **_CONDITION},
    "/workflows/{workflow}/steps/3": {"type": "NONE", "value": "nothing", **_CONDITION},
    "/rules/rule": {
        "name": "", **_CONDITION,
    },
    "/portal/people/invite": {"email": "no address", "name": "", "role": ""},
    "/portal/merchants/new": {"key": "No Key", "name": "", "currency": "Mark", "timezone": "Moon"},
}  # fmt: skip
# Values that make the form contain these fields.
_GIVEN: Mapping[str, Mapping[str, Any]] = {
    "/suppressions": {"channel": "EMAIL"},
    "/settings/payment": {"payment.partial": "yes"},
    "/settings/offers": {"modalities.plan": "yes", "modalities.deferment": "yes"},
    "/rules/rule": {"target.name": "", "target.value": "many"},
}


@pytest.fixture
async def admin(resources: Resources, harness: Harness) -> Clerk:
    """A user who may open every form."""
    return await sign_in(resources, an_application(resources).app, harness, UserRoles(Role.ADMIN))


def find_fields_with_errors(page: str) -> set[str]:
    return set(re.findall(r'class="error" id="([^"]+)-error"', page))


@pytest.mark.parametrize("form", _FORMS)
async def test_every_invalid_field_shows_its_error(
    admin: Clerk, harness: Harness, claim_id: int, form: str
) -> None:
    [row] = await harness.rows("SELECT workflow_id FROM workflows WHERE merchant_id = $1")
    path = form.format(claim=claim_id, workflow=row["workflow_id"])
    shown = await admin.get(path)
    assert shown.status_code == 200

    typed = {**_GIVEN.get(form, {}), **_FORMS[form]}
    answer = await admin.post(path, {**read_fields(shown.text), **typed})

    assert answer.status_code in (400, 422)
    found = find_fields_with_errors(answer.text)
    assert set(_FORMS[form]) <= found, set(_FORMS[form]) - found


async def test_a_taken_key_is_reported_with_the_other_errors(
    admin: Clerk, harness: Harness
) -> None:
    path = "/portal/merchants/new"
    fields = read_fields((await admin.get(path)).text)
    typed = {"key": harness.merchant.key, "name": "", "currency": "Mark"}
    answer = await admin.post(path, {**fields, **typed})
    assert {"key", "name", "currency"} <= find_fields_with_errors(answer.text)
