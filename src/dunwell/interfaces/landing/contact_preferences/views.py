"""How a debtor is contacted and what of it can be chosen, as the pages show it, masked."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec
import phonenumbers

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.identities import mask_address, normalize_address
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.web.templates import Page
from dunwell.platform.text.texts import is_email_address
from dunwell.platform.text.translation import Language

_LONGEST = 254
# What a page's address calls that which can be changed there.
CHANGEABLE: Mapping[str, NoticeChannel] = {"email": "EMAIL", "mobile": "SMS"}
_MOBILE = (
    phonenumbers.PhoneNumberType.MOBILE,
    phonenumbers.PhoneNumberType.FIXED_LINE_OR_MOBILE,
)
_NO_COUNTRY = (None, phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY)
AddressFault = Literal["WRONG_EMAIL", "WRONG_NUMBER", "SAME"]


@dataclass(frozen=True, slots=True)
class ContactWay:
    channel: Channel
    address: str
    # The reason of its suppression; none: it is used.
    suppressed_for: str | None

    @property
    def is_used(self) -> bool:
        return self.suppressed_for is None

    @property
    def masked(self) -> str:
        return mask_address(self.channel, self.address)

    @property
    def may_choose(self) -> bool:
        """Only the debtor's own refusal is the debtor's to take back."""
        return self.suppressed_for in (None, "DEBTOR")


@dataclass(frozen=True, slots=True)
class ContactWayChanges:
    """What is to change."""

    suppressed: Sequence[ContactWay]
    lifted: Sequence[ContactWay]


def compute_way_changes(
    ways: Sequence[ContactWay], wanted: Collection[str]
) -> ContactWayChanges | None:
    """`wanted`: the channels to use, others are not. None: no way would be left."""
    free = [way for way in ways if way.may_choose]
    if free and not any(way.channel in wanted for way in free):
        return None
    return ContactWayChanges(
        [way for way in free if way.is_used and way.channel not in wanted],
        [way for way in free if not way.is_used and way.channel in wanted],
    )


def parse_address(
    channel: NoticeChannel, typed: str, present: str | None
) -> tuple[str, AddressFault | None]:
    """What was typed as it is kept, and what is wrong with it. A number is read as it is dialled
    where the present one is from, else with its country's code."""
    typed = typed.strip()[:_LONGEST]
    address = typed if channel == "EMAIL" else _read_number(typed, present)
    if channel == "EMAIL" and not is_email_address(typed):
        return typed, "WRONG_EMAIL"
    if address is None:
        return typed, "WRONG_NUMBER"
    if present and normalize_address(channel, address) == normalize_address(channel, present):
        return typed, "SAME"
    return address, None


def _read_number(typed: str, present: str | None) -> str | None:
    try:
        region = None
        if present is not None:
            region = phonenumbers.region_code_for_number(phonenumbers.parse(present))
        number = phonenumbers.parse(typed, region)
    except phonenumbers.NumberParseException:
        return None
    if not _is_mobile(number):
        return None
    written: str = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return written


def _is_mobile(number: phonenumbers.PhoneNumber) -> bool:
    """Whether a text message gets there at the price of one. Satellites and ships (+870, +881) are
    called mobile too, but no country's: a message there costs many times as much, and whoever owns
    the number may be paid for each."""
    is_a_countrys = phonenumbers.region_code_for_number(number) not in _NO_COUNTRY
    return is_a_countrys and phonenumbers.number_type(number) in _MOBILE


def render_address(channel: NoticeChannel, address: str) -> str:
    """As people compare it: a number in the groups of its country."""
    if channel == "EMAIL":
        return address
    try:
        number = phonenumbers.parse(address)
    except phonenumbers.NumberParseException:
        return address
    shown: str = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    return shown


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
    ways: Sequence[ContactWay]
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
    opened: OpenedClaim, context: DebtorPageContext, languages: Mapping[str, Language],
    ways: Sequence[ContactWay], *, saved: str | None, is_last: bool,
) -> PreferencesPage:  # fmt: skip
    """languages: of the installation."""
    language = opened.facts.language
    return PreferencesPage(
        languages=[languages[code] for code in context.offered],
        claims_language=language if language in context.offered else context.language,
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
