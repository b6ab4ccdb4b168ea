"""A merge patch of contact data, whose result must follow the rules of a new claim."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.intake.change_contact_data import apply_patch
from dunwell.cases.intake.submission import ClaimSubmission, ContactPatch
from dunwell.core.claims.fields import ContactData
from dunwell.platform.errors import ValidationError

PRESENT = msgspec.convert(
    {
        "debtorName": "Erika",
        "debtorLastName": "Mustermann",
        "email": "erika@example.org",
        "mobileNumber": "+4915112345678",
        "dateOfBirth": "1990-05-04",
        "address": {"street": "Am Markt 1", "postalCode": "20095", "city": "Hamburg"},
        "customFields": {"shop": "web", "tier": "gold"},
    },
    ContactData,
)


def faults(patch: Any, present: ContactData = PRESENT) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as refused:
        apply_patch(present, patch)
    return [(each.path, each.code) for each in refused.value.faults]


def changed(patch: Any) -> dict[str, Any]:
    """Return the fields that differ, by name."""
    after = apply_patch(PRESENT, patch)
    return {
        name: getattr(after, name)
        for name in ContactData.__struct_fields__
        if getattr(after, name) != getattr(PRESENT, name)
    }


def test_given_fields_are_changed_and_others_stay() -> None:
    assert changed({"email": "new@example.org"}) == {"email": "new@example.org"}
    assert changed({}) == {}


def test_null_clears_a_nested_field() -> None:
    assert changed({"mobileNumber": None}) == {"mobile_number": None}
    assert changed({"customFields": {"shop": None, "new": "1"}}) == {
        "custom_fields": {"tier": "gold", "new": "1"}
    }
    after = apply_patch(PRESENT, {"address": {"street": None, "city": "Berlin"}})
    assert after.address is not None
    assert (after.address.street, after.address.city) == (None, "Berlin")
    assert after.address.postal_code == "20095"
    assert changed({"address": None}) == {"address": None}


def test_every_fault_is_reported_at_once() -> None:
    patch = {"email": "nobody", "mobileNumber": 1, "address": {"country": "Germany"}, "emial": None}
    assert sorted(faults(patch)) == [
        ("/address/country", "WRONG_FORMAT"), ("/email", "WRONG_FORMAT"),
        ("/emial", "UNKNOWN_FIELD"), ("/mobileNumber", "WRONG_TYPE"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("patch", "fault"),
    [
        ({"debtorLastName": None}, ("/debtorLastName", "REQUIRED")),
        ({"debtorLastName": " "}, ("/debtorLastName", "REQUIRED")),
        ({"mobileNumber": "+9991234567"}, ("/mobileNumber", "WRONG_PHONE_NUMBER")),
        ({"language": "qqq"}, ("/language", "UNKNOWN_LANGUAGE")),
        ({"address": {"country": "XX"}}, ("/address/country", "UNKNOWN_COUNTRY")),
        ({"salutation": "DR"}, ("/salutation", "NOT_ALLOWED")),
        ({"dateOfBirth": "04.05.1990"}, ("/dateOfBirth", "WRONG_FORMAT")),
        ({"debtorName": "a\x00"}, ("/debtorName", "CONTROL_CHARACTER")),
        ({"customFields": {f"f{n}": "x" for n in range(49)}}, ("/customFields", "TOO_MANY")),
        ([], ("", "WRONG_TYPE")),
        (None, ("", "WRONG_TYPE")),
        ("x", ("", "WRONG_TYPE")),
    ],
)
def test_the_result_is_checked_like_a_new_claim(patch: Any, fault: tuple[str, str]) -> None:
    assert faults(patch) == [fault]


def test_a_debtor_may_become_a_company() -> None:
    assert changed({"debtorLastName": None, "companyName": "Muster GmbH"}) == {
        "last_name": None,
        "company_name": "Muster GmbH",
    }


@pytest.mark.parametrize(
    "name", ["referenceNumber", "currency", "items", "attachments", "maxDeferralDate"]
)
def test_fields_of_the_claim_itself_cannot_be_patched(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        apply_patch(PRESENT, {name: "x"})
    [fault] = refused.value.faults
    assert (fault.path, fault.code) == (f"/{name}", "UNKNOWN_FIELD")
    assert fault.message.startswith(f'"{name}" cannot be changed here.')


def test_the_patch_has_the_contact_fields_of_a_claim() -> None:
    claim = {each.name: each for each in msgspec.structs.fields(ClaimSubmission)}
    for each in msgspec.structs.fields(ContactData):
        assert (each.type, each.encode_name) == (
            claim[each.name].type, claim[each.name].encode_name,
        )  # fmt: skip
    assert ContactPatch.__struct_fields__ == ContactData.__struct_fields__


TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=20)
PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "debtorName": st.none() | TEXTS,
        "email": st.sampled_from([None, "a@example.org", "b@example.org"]),
        "address": st.none()
        | st.fixed_dictionaries({}, optional={"street": st.none() | TEXTS, "city": TEXTS}),
        "customFields": st.none() | st.dictionaries(TEXTS, st.none() | TEXTS, max_size=5),
    },
)


@given(PATCHES)
def test_the_same_patch_again_changes_nothing(patch: dict[str, Any]) -> None:
    once = apply_patch(PRESENT, patch)
    assert apply_patch(once, patch) == once
