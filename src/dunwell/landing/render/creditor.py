"""The creditor as the pages show it: names, address, ways to ask, the look of its brand. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dunwell.landing.render.addresses import build_address
from dunwell.merchants.merchant import Merchant
from dunwell.messages.formatting import render_iban, render_line


@dataclass(frozen=True, slots=True)
class Bank:
    holder: str
    # In fours.
    iban: str
    bic: str | None


@dataclass(frozen=True, slots=True)
class Creditor:
    name: str
    legal_name: str
    address: tuple[str, ...]
    register: str | None
    authority: str | None
    vat_id: str | None
    email: str | None
    phone: str | None
    # The phone number as it is dialled.
    dialled: str
    hours: str | None
    # Which it writes its own words in.
    language: str
    bank: Bank | None
    # By language, its own words on where to find advice, in lines.
    advice: Mapping[str, Sequence[str]]
    # Addresses of ours; none where the brand brings nothing of its own.
    style: str | None
    logo: str | None


def describe_creditor(merchant: Merchant) -> Creditor:
    configuration = merchant.configuration
    legal, contact, brand = configuration.legal, configuration.contact, configuration.brand
    whose = {"merchant_id": merchant.merchant_id, "revision": merchant.revision}
    phone = render_line(contact.phone) if contact else ""
    return Creditor(
        name=render_line(merchant.name),
        legal_name=render_line(legal.name if legal else merchant.name),
        address=_read_lines(legal.address) if legal else (),
        register=legal.register if legal else None,
        authority=legal.supervisory_authority if legal else None,
        vat_id=legal.vat_id if legal else None,
        email=contact.email if contact else None,
        phone=phone or None,
        dialled=dial(phone),
        hours=contact.hours if contact else None,
        language=configuration.language,
        bank=_describe_bank(merchant),
        advice={
            language: tuple(map(render_line, _read_lines(text)))
            for language, text in configuration.landing_page.advice.items()
        },
        style=build_address("brand", **whose, name="brand.css") if brand.color else None,
        logo=build_address("brand", **whose, name="logo") if brand.logo else None,
    )


def dial(phone: str) -> str:
    """A phone number as it is dialled."""
    return re.sub(r"[^0-9+]", "", phone)


def _describe_bank(merchant: Merchant) -> Bank | None:
    account = merchant.configuration.payment.bank_account
    if account is None:
        return None
    return Bank(render_line(account.holder), render_iban(account.iban) or "", account.bic)


def _read_lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
