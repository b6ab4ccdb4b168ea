"""The creditor as the pages show it: names, address, contact details and brand colors. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dunwell.accounts.installation.installation_file import Operator, OperatorRole
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.templates.formatting import render_iban, render_line
from dunwell.interfaces.landing.render.addresses import build_address
from dunwell.platform.text.colors import is_color, measure_contrast, split_color


@dataclass(frozen=True, slots=True)
class Bank:
    """The bank account that transfers go to."""

    holder: str
    # In groups of four characters.
    iban: str
    bic: str | None


@dataclass(frozen=True, slots=True)
class Creditor:
    """The merchant's names, contact details and brand, ready to be shown."""

    name: str
    legal_name: str
    address: tuple[str, ...]
    register: str | None
    authority: str | None
    vat_id: str | None
    representatives: str
    email: str | None
    phone: str | None
    # The phone number for a tel: link.
    dialled: str
    hours: str | None
    # The language of the merchant's own texts.
    language: str
    bank: Bank | None
    # The lines of the merchant's information on debt advice, by language.
    advice: Mapping[str, Sequence[str]]
    # The addresses of the brand's style sheet and logo. None if the brand has none.
    style: str | None
    logo: str | None


@dataclass(frozen=True, slots=True)
class ShownOperator:
    """The company that runs the installation. `role` is None if the installation names no
    operator."""

    role: OperatorRole | None = None
    legal_name: str | None = None
    address: tuple[str, ...] = ()
    representatives: str = ""
    register: str | None = None
    authority: str | None = None
    vat_id: str | None = None
    email: str | None = None
    phone: str | None = None
    dialled: str = ""
    hours: str | None = None
    # The registration number and the supervisory authority of a debt collector.
    registration: str | None = None
    registrar: tuple[str, ...] = ()


def describe_creditor(merchant: Merchant) -> Creditor:
    configuration = merchant.configuration
    legal, contact, brand = configuration.legal, configuration.contact, configuration.brand
    merchant_values = {"merchant_id": merchant.merchant_id, "revision": merchant.revision}
    phone = render_line(contact.phone) if contact else ""
    return Creditor(
        name=render_line(merchant.name),
        legal_name=render_line(legal.name if legal else merchant.name),
        address=split_lines(legal.address) if legal else (),
        register=legal.register if legal else None,
        authority=legal.supervisory_authority if legal else None,
        vat_id=legal.vat_id if legal else None,
        representatives=", ".join(map(render_line, legal.representatives)) if legal else "",
        email=contact.email if contact else None,
        phone=phone or None,
        dialled=render_dialled_number(phone),
        hours=contact.hours if contact else None,
        language=configuration.language,
        bank=_describe_bank(merchant),
        advice={
            language: tuple(map(render_line, split_lines(text)))
            for language, text in configuration.landing_page.advice.items()
        },
        style=build_address("brand", **merchant_values, name="brand.css") if brand.color else None,
        logo=build_address("brand", **merchant_values, name="logo") if brand.logo else None,
    )


def describe_operator(operator: Operator | None, phone: str | None) -> ShownOperator:
    """Describe the operator. `phone` is set in the installation's settings and replaces the
    operator's own."""
    phone = phone or (operator.contact.phone if operator else None)
    if operator is None:
        return ShownOperator(phone=phone, dialled=render_dialled_number(phone or ""))
    legal, registration = operator.legal, operator.registration
    return ShownOperator(
        role=operator.role,
        legal_name=render_line(legal.name),
        address=split_lines(legal.address),
        representatives=", ".join(map(render_line, legal.representatives)),
        register=legal.register,
        authority=legal.supervisory_authority,
        vat_id=legal.vat_id,
        email=operator.contact.email,
        phone=phone,
        dialled=render_dialled_number(phone or ""),
        hours=operator.contact.hours,
        registration=registration.number if registration else None,
        registrar=split_lines(registration.authority) if registration else (),
    )


def render_dialled_number(phone: str) -> str:
    """Render a phone number for a tel: link."""
    return re.sub(r"[^0-9+]", "", phone)


def _describe_bank(merchant: Merchant) -> Bank | None:
    account = merchant.configuration.payment.bank_account
    if account is None:
        return None
    return Bank(render_line(account.holder), render_iban(account.iban) or "", account.bic)


def split_lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


_MIN_CONTRAST = 4.5
# The backgrounds in landing.css on which the brand's color is used: --paper, --ground, and that of
# a notice. White text is placed on the color itself, so WCAG's 4.5:1 applies to white, too.
_BACKGROUNDS = ("#ffffff", "#f3f5f7", "#e8eef3", "#fdf3e4")
_HOVER_BRIGHTNESS = 0.82


@dataclass(frozen=True, slots=True)
class Palette:
    """`brand` is the background of white text, and `brand_deep` replaces it under the pointer."""

    brand: str
    brand_deep: str


NEUTRAL = Palette("#1f4a68", "#163850")


def choose_palette(color: str | None) -> Palette:
    """Choose the brand's palette, or the neutral one if the brand has no color or its contrast is
    too low."""
    if color is None or not is_color(color):
        return NEUTRAL
    if min(measure_contrast(color, background) for background in _BACKGROUNDS) < _MIN_CONTRAST:
        return NEUTRAL
    return Palette(color, _darken(color))


def _darken(color: str) -> str:
    return "#" + "".join(f"{int(part * _HOVER_BRIGHTNESS):02x}" for part in split_color(color))
