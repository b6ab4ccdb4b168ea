"""What the pages before a session show: links, codes, known facts and the legal notices."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from dunwell.accounts.merchants.configuration import LegalBasis, PrivacyNotice, find_country
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.render.creditor import split_lines
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.sign_in.verification import AskCode, AskFact, Fact, LinkVerification
from dunwell.interfaces.web.templates import Page


class LetterCodePage(Page, frozen=True):
    """is_wrong: no letter has the code that was entered."""

    template: ClassVar[str] = "code.html"

    is_wrong: bool


class DeadLinkPage(Page, frozen=True):
    template: ClassVar[str] = "dead_link.html"


class ClaimLinkPage(Page, frozen=True):
    template: ClassVar[str] = "link.html"

    token: str
    # What the link asks for, by the name of its kind (`Way`).
    verification: str
    fact: Fact | None
    channel: NoticeChannel | None
    is_wrong: bool


class NewLinkPage(Page, frozen=True):
    """faults: the names of the fields that nothing was typed into."""

    template: ClassVar[str] = "new_link.html"

    faults: Sequence[str]


class NewLinkSentPage(Page, frozen=True):
    template: ClassVar[str] = "new_link_sent.html"


class HomePage(Page, frozen=True):
    """The front door, for whoever comes without a link."""

    template: ClassVar[str] = "home.html"


class AuthenticityPage(Page, frozen=True):
    """outcome: what was checked is our LETTER, or another MESSAGE of ours, or UNCONFIRMED; none:
    nothing was checked yet."""

    template: ClassVar[str] = "real.html"

    outcome: str | None


class VerifyPage(Page, frozen=True):
    template: ClassVar[str] = "verify.html"

    # Of the page's address: where the reader comes back to.
    place: str
    needed: Level
    # What can be asked for, and where a code can be sent.
    fact: Fact | None
    channel: NoticeChannel | None
    # Which of the page's forms did not fit: FACT or LETTER.
    wrong: str | None


class CodeField(msgspec.Struct, frozen=True, gc=False):
    """A page that takes a sent code. page, values: the name and the address's values of the one
    that sends codes, whose `<page>_send` and `<page>_code` take the forms."""

    channel: NoticeChannel
    page: str
    values: Mapping[str, str]
    # What the reader has typed there; none: it is not theirs to see.
    sent_to: str | None = None
    # It was reported that the newest code did not arrive.
    is_undelivered: bool = False


class SentCodePage(Page, frozen=True):
    template: ClassVar[str] = "sent_code.html"

    field: CodeField
    is_wrong: bool = False
    # Until another code can be sent, when one was asked for too often.
    wait_minutes: int = 0


def describe_link(token: str, verification: LinkVerification, *, is_wrong: bool) -> ClaimLinkPage:
    return ClaimLinkPage(
        token=token,
        verification=type(verification).__name__,
        fact=verification.fact if isinstance(verification, AskFact) else None,
        channel=verification.channel if isinstance(verification, AskCode) else None,
        is_wrong=is_wrong,
    )


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
