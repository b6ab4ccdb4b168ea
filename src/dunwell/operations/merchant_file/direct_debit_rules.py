"""The rules of `payment.directDebit` in a merchant file. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from dunwell.accounts.merchants.configuration import DirectDebitSettings
from dunwell.cases.direct_debit.debit_values import is_debit_country
from dunwell.cases.direct_debit.order import CURRENCY, ForbiddenText, spell_name
from dunwell.platform.errors import Fault
from dunwell.platform.text.codes import is_bic, is_creditor_id, is_iban
from dunwell.platform.text.shape import convert_if_valid

_PATH = "/payment/directDebit"


def find_direct_debit_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    payment = document.get("payment")
    given = payment.get("directDebit") if isinstance(payment, dict) else None
    settings = convert_if_valid(given, DirectDebitSettings)
    if settings is None:
        return
    if not is_creditor_id(normalize_code(settings.creditor_id)):
        message = (
            "This is not a valid creditor identifier: its form or check digits are wrong. Copy it "
            "again from the letter of your central bank."
        )
        yield Fault(f"{_PATH}/creditorId", message, "WRONG_CREDITOR_ID")
    currency = document.get("currency", CURRENCY)
    if currency != CURRENCY:
        message = f"Direct debits are in {CURRENCY} only, but the merchant's currency is another."
        yield Fault(_PATH, message, "OTHER_CURRENCY")
    account = settings.account
    if not is_iban(account.iban) or not is_debit_country(account.iban):
        message = (
            "This is not a valid IBAN of a country of the European Economic Area. Copy it again."
        )
        yield Fault(f"{_PATH}/account/iban", message, "WRONG_IBAN")
    if account.bic is not None and not is_bic(account.bic):
        message = "This is not a valid BIC; use 8 or 11 letters and digits, or leave it out."
        yield Fault(f"{_PATH}/account/bic", message, "WRONG_BIC")
    try:
        spell_name(account.holder)
    except ForbiddenText:
        message = "The bank accepts Latin letters only. Write the holder as the bank does."
        yield Fault(f"{_PATH}/account/holder", message, "WRONG_FORMAT")
    if settings.pre_notification_days <= settings.lead_days:
        message = (
            f"The bank needs the file {settings.lead_days} banking days before a debit, so the "
            "debtor must be notified earlier than that."
        )
        yield Fault(f"{_PATH}/preNotificationDays", message, "TOO_SMALL")


def normalize_code(text: str) -> str:
    """Return a code in capitals, without spaces."""
    return "".join(text.split()).upper()
