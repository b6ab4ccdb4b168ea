"""What the ways in show: a letter's code, a link, what is asked for, the field for a sent code."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from dunwell.contact.notices.notice import NoticeChannel
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
