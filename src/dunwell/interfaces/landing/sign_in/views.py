"""What the pages show before a claim is opened, and the legal notices."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from dunwell.accounts.merchants.configuration import LegalBasis, PrivacyNotice, find_country
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.render.creditor import split_lines
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.sign_in.verification import (
    AskCode,
    AskProof,
    LinkVerification,
    ProofKind,
)
from dunwell.interfaces.web.templates import Page


class LetterCodePage(Page, frozen=True):
    """`is_wrong` says that no letter has the entered code."""

    template: ClassVar[str] = "code.html"

    is_wrong: bool


class DeadLinkPage(Page, frozen=True):
    template: ClassVar[str] = "dead_link.html"


class ClaimLinkPage(Page, frozen=True):
    template: ClassVar[str] = "link.html"

    token: str
    # What the link asks for: the class name of its `LinkVerification`.
    verification: str
    kind: ProofKind | None
    channel: NoticeChannel | None
    is_wrong: bool


class NewLinkPage(Page, frozen=True):
    """`faults` are the names of the empty fields."""

    template: ClassVar[str] = "new_link.html"

    faults: Sequence[str]


class NewLinkSentPage(Page, frozen=True):
    template: ClassVar[str] = "new_link_sent.html"


class HomePage(Page, frozen=True):
    """The start page, for visitors without a link."""

    template: ClassVar[str] = "home.html"


class AuthenticityPage(Page, frozen=True):
    """`outcome` is LETTER or MESSAGE if the checked letter or message is ours, UNCONFIRMED if not,
    and None if nothing was checked yet."""

    template: ClassVar[str] = "authenticity.html"

    outcome: str | None


class VerifyPage(Page, frozen=True):
    template: ClassVar[str] = "verify.html"

    # The page to return to, by its name in the address.
    place: str
    needed: Level
    # The proof that can be asked for, and the channel that a code can be sent by. None if there is
    # none.
    kind: ProofKind | None
    channel: NoticeChannel | None
    # The form with the wrong entry: FACT or LETTER. None if nothing was entered yet.
    wrong: str | None


class CodeField(msgspec.Struct, frozen=True, gc=False):
    """The form field for a sent code. `page` and `values` are the name and parameters of the
    page that sends codes; the pages `<page>_send` and `<page>_code` accept its forms."""

    channel: NoticeChannel
    page: str
    values: Mapping[str, str]
    # The address, if this session has entered it, so that it may be shown in full.
    sent_to: str | None = None
    # True if the newest code was reported as undelivered.
    is_undelivered: bool = False


class SentCodePage(Page, frozen=True):
    template: ClassVar[str] = "sent_code.html"

    field: CodeField
    is_wrong: bool = False
    # Minutes until another code can be sent, after too many requests.
    wait_minutes: int = 0


def describe_link(token: str, verification: LinkVerification, *, is_wrong: bool) -> ClaimLinkPage:
    return ClaimLinkPage(
        token=token,
        verification=type(verification).__name__,
        kind=verification.kind if isinstance(verification, AskProof) else None,
        channel=verification.channel if isinstance(verification, AskCode) else None,
        is_wrong=is_wrong,
    )


# The market surveillance authority for the accessibility of services, by country.
_ACCESSIBILITY_AUTHORITIES: Mapping[str, str] = {
    "DE": (
        "Marktüberwachungsstelle der Länder für die Barrierefreiheit von Produkten und "
        "Dienstleistungen (MLBF), Magdeburg"
    ),
    "AT": "Sozialministeriumservice",
}


class ShownPrivacy(msgspec.Struct, frozen=True, gc=False):
    """The merchant's part of the privacy notice; its texts are split into lines. `controller` is
    empty if the creditor is the controller."""

    controller: Sequence[str]
    officer: Sequence[str]
    authority: Sequence[str]
    basis: Sequence[LegalBasis]
    claim_years: int
    # 0 if records have no separate retention period.
    record_years: int


class NoticesPage(Page, frozen=True):
    """The legal notice, the privacy notice and the accessibility statement. Without a creditor they
    describe the installation only."""

    template: ClassVar[str] = "notices.html"

    privacy: ShownPrivacy | None
    # None if the merchant's country is unknown.
    accessibility_authority: str | None
    # True if payment providers are used, or may be used if the creditor is unknown.
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
