"""Creating claims: each is independent, and none is stored partially."""

from typing import Any

import msgspec
import pytest

from dunwell.cases.intake.check_claims import RejectedSubmission, check_claims
from dunwell.cases.intake.create_claims import NO_CONTACT, CreationResult, create_claims
from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidRequest, MerchantNotConfigured, ValidationError
from dunwell.platform.resources import Resources
from tests.support.claims import a_claim, a_submission
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION

_COUNTS = """
SELECT (SELECT count(*) FROM claims WHERE merchant_id = $1) AS claims,
       (SELECT count(*) FROM debtors WHERE merchant_id = $1) AS debtors,
       (SELECT count(*) FROM items WHERE merchant_id = $1) AS items,
       (SELECT count(*) FROM audit_log
        WHERE merchant_id = $1 AND action = 'claims.create') AS audits
"""


def check(*claims: object) -> list[ClaimSubmission | RejectedSubmission]:
    return check_claims(msgspec.json.encode(claims))


async def create(
    harness: Harness, *claims: ClaimSubmission | RejectedSubmission
) -> list[CreationResult]:
    async with harness.work() as work:
        return await create_claims(work, claims)


async def test_a_created_claim_is_assigned_and_due_at_once(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [result] = await create(harness, a_submission())
    assert (result.reference_number, result.error, result.remarks) == ("INV-1001", None, ())
    assert result.claim_id is not None
    claim = await harness.read(result.claim_id)
    assert claim.status is Status.CREATED
    assert claim.next_step_at == clock.now()
    assert claim.assignment is not None
    assert claim.assignment.version == "v1.0"
    assert claim.balance.outstanding_cents == 10240
    assert claim.debtor.email == "erika@example.org"


async def test_a_faulty_claim_does_not_affect_others(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    checked = check(a_claim("A"), a_claim("B", items=[]), a_claim("C"))
    results = await create(harness, *checked)
    assert [result.claim_id is not None for result in results] == [True, False, True]
    assert isinstance(results[1].error, ValidationError)
    [counts] = await harness.rows(_COUNTS)
    assert tuple(counts) == (2, 2, 2, 1)


async def test_a_reference_used_before_names_the_claim_that_has_it(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [first, again] = await create(harness, a_submission("A"), a_submission("A"))
    [later] = await create(harness, a_submission("A"))
    for refused in (again, later):
        assert refused.error is not None
        assert refused.error.type == "DuplicateReferenceNumber"
        assert refused.error.details == {"claimId": first.claim_id}
    [counts] = await harness.rows(_COUNTS)
    assert tuple(counts) == (1, 1, 1, 1)


async def test_two_merchants_may_use_the_same_reference(
    resources: Resources, clock: MovableClock
) -> None:
    for key in ("nordwind", "hansen"):
        harness = await a_harness(resources, clock, key=key)
        [result] = await create(harness, a_submission("A"))
        assert result.error is None


async def test_a_claim_without_contact_data_is_created_with_a_remark(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [result] = await create(harness, a_submission(email=None))
    assert result.claim_id is not None
    assert result.remarks == (NO_CONTACT,)


async def test_a_claim_in_another_currency_stays_unassigned(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [result] = await create(harness, a_submission(currency="CHF"))
    assert result.claim_id is not None
    assert [remark.code for remark in result.remarks] == ["OTHER_CURRENCY"]
    claim = await harness.read(result.claim_id)
    assert (claim.assignment, claim.next_step_at) == (None, None)


async def test_processing_can_start_with_the_due_date(
    resources: Resources, clock: MovableClock
) -> None:
    settings = {**DOCUMENT["settings"], "processingStart": "DUE_DATE"}
    harness = await a_harness(resources, clock, a_definition(settings=settings))
    items = [{**a_claim()["items"][0], "dueDate": "2026-03-10"}]
    [result] = await create(harness, a_submission(items=items))
    assert result.claim_id is not None
    claim = await harness.read(result.claim_id)
    assert claim.next_step_at is not None
    assert claim.next_step_at.isoformat() == "2026-03-09T23:00:00+00:00"


async def test_the_error_for_an_unconfigured_merchant_lists_what_is_missing(
    resources: Resources, clock: MovableClock
) -> None:
    bare = msgspec.structs.replace(CONFIGURATION, legal=None, channels={})
    harness = await a_harness(resources, clock, configuration=bare)
    with pytest.raises(MerchantNotConfigured) as refusal:
        await create(harness, a_submission())
    assert refusal.value.details == {"missing": ["legal", "channels"]}
    [counts] = await harness.rows(_COUNTS)
    assert tuple(counts) == (0, 0, 0, 0)


async def test_a_live_merchant_without_legal_details_cannot_create_claims(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(
        resources, clock, configuration=msgspec.structs.replace(CONFIGURATION, privacy=None)
    )
    with pytest.raises(MerchantNotConfigured) as refusal:
        await create(harness, a_submission())
    assert refusal.value.details == {"missing": ["privacy"]}
    assert "privacy: Articles 13 and 14 GDPR" in refusal.value.message


FAULTY: list[tuple[dict[str, Any], list[str]]] = [
    ({"referenceNumber": " "}, ["/referenceNumber"]),
    ({"debtorLastName": None}, ["/debtorLastName"]),
    ({"currency": "XYZ"}, ["/currency"]),
    ({"currency": "eur"}, ["/currency"]),
    ({"mobileNumber": "+4912"}, ["/mobileNumber"]),
    ({"mobileNumber": "015112345678"}, ["/mobileNumber"]),
    ({"email": "erika@"}, ["/email"]),
    ({"email": "a@b.example\n"}, ["/email"]),
    ({"debtorName": "Eri\x00ka"}, ["/debtorName"]),
    ({"debtorName": "x" * 256}, ["/debtorName"]),
    ({"language": "qq"}, ["/language"]),
    ({"address": {"country": "XX"}}, ["/address/country"]),
    ({"dateOfBirth": "1990-02-30"}, ["/dateOfBirth"]),
    ({"customFields": {str(n): "x" for n in range(51)}}, ["/customFields"]),
    ({"items": [{"reference": "A", "type": "DUNNING_FEE", "value": "1"}]}, ["/items"]),
]
FAULTY_ITEMS: list[tuple[dict[str, Any], list[str]]] = [
    ({"value": 102.4}, ["/items/0/value"]),
    ({"value": "102.40"}, ["/items/0/value"]),
    ({"value": "0"}, ["/items/0/value"]),
    ({"value": "1234567890123"}, ["/items/0/value"]),
    ({"type": "PRIMARYY"}, ["/items/0/type"]),
    ({"itemDate": "2026-03-02", "dueDate": "2026-03-01"}, ["/items/0/dueDate"]),
]


@pytest.mark.parametrize(("changes", "paths"), FAULTY)
def test_each_fault_has_its_path(changes: dict[str, Any], paths: list[str]) -> None:
    [rejected] = check(a_claim(**changes))
    assert isinstance(rejected, RejectedSubmission)
    assert [fault.path for fault in rejected.error.faults] == paths


@pytest.mark.parametrize(("changes", "paths"), FAULTY_ITEMS)
def test_each_fault_of_an_item_has_its_path(changes: dict[str, Any], paths: list[str]) -> None:
    [rejected] = check(a_claim(items=[{**a_claim()["items"][0], **changes}]))
    assert isinstance(rejected, RejectedSubmission)
    assert [fault.path for fault in rejected.error.faults] == paths


def test_five_faults_are_reported_at_once() -> None:
    claim = a_claim(
        currency="euro", email="x", mobileNumber="1", debtorNam="Erika", items=[{"type": "PRIMARY"}]
    )
    [rejected] = check(claim)
    assert isinstance(rejected, RejectedSubmission)
    assert {fault.path for fault in rejected.error.faults} == {
        "/currency", "/email", "/mobileNumber", "/debtorNam", "/items/0/reference",
        "/items/0/value",
    }  # fmt: skip
    unknown = next(f for f in rejected.error.faults if f.path == "/debtorNam")
    assert "debtorName" in unknown.message


@pytest.mark.parametrize("body", [b"", b"{", b"[{]", b'["\xff"]', b"[1,]"])
def test_a_body_that_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        check_claims(body)


@pytest.mark.parametrize("body", [b"{}", b'"x"', b"[]", b"null", b"[" + b"{}," * 1000 + b"{}]"])
def test_a_body_that_is_not_a_list_of_1_to_1000_claims_is_refused(body: bytes) -> None:
    with pytest.raises(ValidationError):
        check_claims(body)
