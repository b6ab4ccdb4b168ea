"""What the pages of reaching show: languages, channels, addresses, all of them masked."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from dunwell.contact.messages.identities import mask_address
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.reaching.ways import CHANGEABLE, AddressFault, WayToReach
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.web.templates import Page
from dunwell.platform.text.translation import Language


class ShownAddress(msgspec.Struct, frozen=True, gc=False):
    """One that can be changed. name: as the page's address calls it. masked: none: there is
    none."""

    name: str
    channel: NoticeChannel
    masked: str | None


class PreferencesPage(Page, frozen=True):
    template: ClassVar[str] = "preferences.html"

    languages: Sequence[Language]
    claims_language: str
    ways: Sequence[WayToReach]
    addresses: Sequence[ShownAddress]
    # Whether the session may change them at once.
    may_change: bool
    # What was saved: language, channels, email, sms.
    saved: str | None
    # What was chosen would have left no way.
    is_last: bool


class UnsubscribePage(Page, frozen=True):
    template: ClassVar[str] = "unsubscribe.html"

    # Of the message, as its address has it.
    reference: str
    is_done: bool


class AddressPage(Page, frozen=True):
    template: ClassVar[str] = "address.html"

    # As the page's address calls it.
    what: str
    channel: NoticeChannel
    typed: str
    fault: AddressFault | None
    # The one on file.
    masked: str | None
    # Whether its form was of a session that this one has taken the place of.
    is_stale: bool


def describe_preferences(
    opened: OpenedClaim, frame: DebtorPageContext, languages: Mapping[str, Language],
    ways: Sequence[WayToReach], *, saved: str | None, is_last: bool,
) -> PreferencesPage:  # fmt: skip
    """languages: of the installation."""
    language = opened.facts.language
    return PreferencesPage(
        languages=[languages[code] for code in frame.offered],
        claims_language=language if language in frame.offered else frame.language,
        ways=ways,
        addresses=_list_addresses(opened),
        may_change=opened.session.level.reaches(Level.CODE),
        saved=saved,
        is_last=is_last,
    )


def mask_present(opened: OpenedClaim, channel: NoticeChannel) -> str | None:
    """The address on file."""
    present = opened.facts.on_file.find(channel)
    return mask_address(channel, present) if present else None


def _list_addresses(opened: OpenedClaim) -> list[ShownAddress]:
    """A code can only be sent by a channel the merchant has."""
    return [
        ShownAddress(name, channel, mask_present(opened, channel))
        for name, channel in CHANGEABLE.items()
        if channel in opened.merchant.configuration.channels
    ]
