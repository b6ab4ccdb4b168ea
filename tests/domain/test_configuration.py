"""A merchant's stored configuration: what is missing, and documents stored by older versions."""

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import (
    PAGE_LANGUAGES,
    Brand,
    Configuration,
    LandingPage,
    Logo,
    PaymentMethod,
    PaymentSettings,
    list_missing_keys,
)
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.support.merchants import CONFIGURATION


def test_a_complete_configuration_lacks_nothing() -> None:
    assert list_missing_keys(CONFIGURATION) == []


def test_an_empty_configuration_lacks_everything_by_its_name_in_the_file() -> None:
    empty = Configuration("de", "Europe/Berlin", "EUR")
    assert list_missing_keys(empty) == ["legal", "contact", "channels", "payment"]


@pytest.mark.parametrize(
    "payment",
    [
        PaymentSettings(methods=(PaymentMethod("sandbox"),)),
        PaymentSettings(bank_account=CONFIGURATION.payment.bank_account),
    ],
)
def test_a_payment_method_or_a_bank_account_is_enough(payment: PaymentSettings) -> None:
    assert list_missing_keys(msgspec.structs.replace(CONFIGURATION, payment=payment)) == []


def test_a_document_stored_before_brands_and_pages_is_read() -> None:
    stored = {
        "language": "de", "timezone": "Europe/Berlin", "currency": "EUR",
        "payment": {"bankAccount": None, "allocation": "PRIMARY_FIRST"},
    }  # fmt: skip
    read = msgspec.convert(stored, Configuration)
    assert (read.brand, read.landing_page) == (Brand(), LandingPage(("de", "en")))
    assert read.payment == PaymentSettings(allocation="PRIMARY_FIRST")


def test_a_stored_configuration_is_read_unchanged() -> None:
    brand = Brand(Logo("image/png", b"\x89PNG\x00"), "#123456")
    given = msgspec.structs.replace(CONFIGURATION, brand=brand)
    stored = msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(given)))
    assert msgspec.convert(stored, Configuration) == given


def test_a_merchant_can_choose_any_language_of_the_pages() -> None:
    assert set(PAGE_LANGUAGES) == set(load_languages(DEBTOR_CATALOGUES))
