"""What the legal notice, the privacy notice and the accessibility statement are made from. Pure."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from dunwell.accounts.merchants.configuration import LegalBasis, PrivacyNotice, find_country
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.interfaces.landing.render.creditor import split_lines
from dunwell.interfaces.web.templates import Page

# Who watches that services for consumers can be used by everybody, by country.
_ACCESSIBILITY_AUTHORITIES: Mapping[str, str] = {
    "DE": (
        "Marktüberwachungsstelle der Länder für die Barrierefreiheit von Produkten und "
        "Dienstleistungen (MLBF), Magdeburg"
    ),
    "AT": "Sozialministeriumservice",
}


class ShownPrivacy(msgspec.Struct, frozen=True, gc=False):
    """The merchant's part of the privacy notice, in lines. controller: empty for the creditor."""

    controller: Sequence[str]
    officer: Sequence[str]
    authority: Sequence[str]
    basis: Sequence[LegalBasis]
    claim_years: int
    # 0: not told apart.
    record_years: int


class NoticesPage(Page, frozen=True):
    """Legal notice, privacy, accessibility; of no creditor where none is known."""

    template: ClassVar[str] = "notices.html"

    privacy: ShownPrivacy | None
    # Whom the debtor can tell; none: their country's is not known.
    accessibility_authority: str | None
    # By their place among the payment methods that move money through others.
    has_providers: bool
    channels: Sequence[str]


def describe_notices(merchant: Merchant | None) -> NoticesPage:
    if merchant is None:
        return NoticesPage(None, None, has_providers=True, channels=())
    configuration = merchant.configuration
    privacy = configuration.privacy
    return NoticesPage(
        privacy=None if privacy is None else _describe_privacy(privacy),
        accessibility_authority=_ACCESSIBILITY_AUTHORITIES.get(find_country(configuration) or ""),
        has_providers=bool(configuration.payment.methods),
        channels=list(configuration.channels),
    )


def _describe_privacy(privacy: PrivacyNotice) -> ShownPrivacy:
    return ShownPrivacy(
        controller=split_lines(privacy.controller or ""),
        officer=split_lines(privacy.officer or ""),
        authority=split_lines(privacy.authority),
        basis=privacy.basis,
        claim_years=privacy.retention.claim_years,
        record_years=privacy.retention.record_years or 0,
    )
