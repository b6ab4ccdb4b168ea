"""Details that Germany and Austria require of a creditor and that a merchant lacks."""

from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import LegalDetails, find_country
from dunwell.accounts.merchants.legal_gaps import list_blocking_gaps, list_legal_gaps
from dunwell.accounts.merchants.merchant import Merchant
from tests.support.merchants import AT_NOON, CONFIGURATION

assert CONFIGURATION.legal is not None
_LEGAL = CONFIGURATION.legal


def _merchant(
    *, is_sandbox: bool = False, timezone: str = "Europe/Berlin", **legal: Any
) -> Merchant:
    configuration = msgspec.structs.replace(
        CONFIGURATION, timezone=timezone, legal=msgspec.structs.replace(_LEGAL, **legal)
    )
    now = AT_NOON if is_sandbox else None
    return Merchant(1, "nordwind", "Nordwind", True, 1, configuration, now)


def _keys(merchant: Merchant) -> list[str]:
    return [gap.key for gap in list_legal_gaps(merchant.configuration)]


def test_a_complete_merchant_lacks_nothing() -> None:
    assert list_legal_gaps(CONFIGURATION) == ()


def test_each_gap_is_named_with_its_reason() -> None:
    bare = msgspec.structs.replace(
        CONFIGURATION, legal=LegalDetails("Nordwind GmbH", "Deichstraße 1"), privacy=None
    )
    found = {gap.key: gap.reason for gap in list_legal_gaps(bare)}
    assert list(found) == ["legal.representatives", "legal.register", "privacy"]
    assert "section 5 DDG" in found["legal.register"]
    assert "Articles 13 and 14 GDPR" in found["privacy"]


@pytest.mark.parametrize(
    ("name", "wants_a_register"),
    [
        ("Nordwind GmbH", True), ("Nordwind GmbH & Co. KG", True), ("Nordwind AG", True),
        ("Tee Hansen e. K.", True), ("Tee Hansen e.K.", True), ("Hansen gGmbH", True),
        ("Petra Hansen", False), ("AGenda Hansen", False), ("Stadtwerke Hamburg", False),
    ],
)  # fmt: skip
def test_a_registered_company_must_name_its_register(name: str, wants_a_register: bool) -> None:
    assert ("legal.register" in _keys(_merchant(name=name, register=None))) == wants_a_register


@pytest.mark.parametrize(
    ("given", "is_stopped"),
    [
        ({}, True),
        ({"timezone": "Europe/Vienna"}, True),
        ({"timezone": "Europe/Paris"}, False),
        ({"timezone": "Europe/Berlin", "country": "CH"}, False),
        ({"timezone": "Europe/Zurich", "country": "DE"}, True),
        ({"is_sandbox": True}, False),
    ],
)
def test_only_live_merchants_of_germany_and_austria_are_blocked(
    given: dict[str, Any], is_stopped: bool
) -> None:
    merchant = _merchant(representatives=(), **given)
    assert _keys(merchant) == ["legal.representatives"]
    assert bool(list_blocking_gaps(merchant)) == is_stopped


def test_the_country_is_that_of_the_seat_or_else_of_the_timezone() -> None:
    assert find_country(_merchant(country="AT").configuration) == "AT"
    assert find_country(_merchant().configuration) == "DE"
