"""What the account keys of a merchant file must keep beyond their shape. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from dunwell.accounts.merchants.configuration import Channel
from dunwell.core.workflows.definition_rules import (
    currency_fault,
    find_repeats,
    language_fault,
    timezone_fault,
)
from dunwell.operations.onboarding.file import (
    BankAccountPart,
    ChannelPart,
    ChannelsPart,
    ContactPart,
    CredentialPart,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.codes import (
    is_bic,
    is_currency,
    is_iban,
    is_language,
    is_timezone,
)
from dunwell.platform.text.shape import read_if_fits, render_nearest
from dunwell.platform.text.texts import is_email_address

# What networks show: a name with a letter in it (GSM 03.40, alphanumeric), a number, a short code.
_SMS_SENDER = re.compile(
    r"(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9 ]{1,11}|\+[1-9][0-9]{5,14}|[1-9][0-9]{2,5}"
)


def find_account_faults(
    document: Mapping[str, Any], available_adapters: Mapping[str, Collection[str]]
) -> Iterator[Fault]:
    """Parts of another shape are left out: the schema has reported them."""
    yield from _find_code_faults(document)
    contact = read_if_fits(document.get("contact"), ContactPart)
    if contact is not None and not is_email_address(contact.email):
        yield _email_fault(contact.email, "/contact/email")
    payment = document.get("payment")
    account = payment.get("bankAccount") if isinstance(payment, dict) else None
    yield from _find_bank_faults(read_if_fits(account, BankAccountPart))
    channels = read_if_fits(document.get("channels"), ChannelsPart)
    for name, setup in list_channels(channels).items():
        yield from _find_channel_faults(name, setup, available_adapters.get(name, ()))
    credentials = read_if_fits(document.get("credentials"), list[CredentialPart]) or []
    names = [credential.name for credential in credentials]
    for fault in find_repeats(names, "/credentials"):
        yield Fault(f"{fault.path}/name", fault.message, fault.code)


def list_channels(channels: ChannelsPart | None) -> dict[Channel, ChannelPart]:
    """The channels a file sets up, by name."""
    if channels is None:
        return {}
    given: dict[Channel, ChannelPart | UnsetType] = {
        "EMAIL": channels.email,
        "SMS": channels.sms,
        "LETTER": channels.letter,
    }
    return {name: setup for name, setup in given.items() if setup is not UNSET}


def _find_code_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    checks = (
        ("language", is_language, language_fault),
        ("timezone", is_timezone, timezone_fault),
        ("currency", is_currency, currency_fault),
    )
    for name, is_known, describe in checks:
        code = document.get(name)
        if isinstance(code, str) and not is_known(code):
            yield describe(code, f"/{name}")


def _find_bank_faults(account: BankAccountPart | None) -> Iterator[Fault]:
    if account is None:
        return
    if not is_iban(account.iban):
        message = "This is no IBAN: country, length or check digits are wrong. Copy it again."
        yield Fault("/payment/bankAccount/iban", message, "WRONG_IBAN")
    if account.bic is not None and not is_bic(account.bic):
        message = "This is no BIC; use 8 or 11 letters and digits, or leave it out."
        yield Fault("/payment/bankAccount/bic", message, "WRONG_BIC")


def _find_channel_faults(
    name: str, setup: ChannelPart, adapters: Collection[str]
) -> Iterator[Fault]:
    path = f"/channels/{name}"
    if (setup.adapter is None) == (setup.line is None):
        message = 'Give "adapter" or "line", a line of the installation file, and not both.'
        yield Fault(f"{path}/line", message, "REQUIRED")
    elif setup.adapter is not None and not adapters:
        yield Fault(path, f"{name} is not available in this release; remove it.", "NOT_AVAILABLE")
        return
    elif setup.adapter is not None and setup.adapter not in adapters:
        nearest = render_nearest(setup.adapter, sorted(adapters))
        message = f'There is no adapter "{setup.adapter}" for {name}. {nearest}'
        yield Fault(f"{path}/adapter", message, "UNKNOWN_ADAPTER")
    if setup.sender is None:
        if name != "LETTER":
            yield Fault(f"{path}/from", '"from" is required: the sender debtors see.', "REQUIRED")
        return
    if name == "LETTER":
        message = 'A letter\'s sender is the creditor under "legal"; remove "from".'
        yield Fault(f"{path}/from", message, "NOT_ALLOWED")
    if name == "EMAIL" and not is_email_address(setup.sender):
        yield _email_fault(setup.sender, f"{path}/from")
    if name == "SMS" and not _SMS_SENDER.fullmatch(setup.sender):
        message = (
            f'"{setup.sender}" cannot be an SMS\'s sender; use up to 11 letters, digits and '
            "spaces, a number in international format with a leading plus, or a short code."
        )
        yield Fault(f"{path}/from", message, "WRONG_SENDER")


def _email_fault(text: str, path: str) -> Fault:
    message = f'"{text}" is no plain e-mail address such as "claims@example.com".'
    return Fault(path, message, "WRONG_EMAIL")
