"""How a debtor is contacted and what the debtor can choose, with masked addresses."""

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

_MAX_LENGTH = 254
# The changeable channels, by their name in the page's address.
CHANGEABLE: Mapping[str, NoticeChannel] = {"email": "EMAIL", "mobile": "SMS"}
_MOBILE = (
    phonenumbers.PhoneNumberType.MOBILE,
    phonenumbers.PhoneNumberType.FIXED_LINE_OR_MOBILE,
)
_REGIONS_WITHOUT_COUNTRY = (None, phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY)
AddressFault = Literal["WRONG_EMAIL", "WRONG_NUMBER", "SAME", "UNREACHABLE"]


@dataclass(frozen=True, slots=True)
class ContactWay:
    channel: Channel
    address: str
    # The reason of the suppression, or None if messages are sent to the address.
    suppressed_for: str | None

    @property
    def is_used(self) -> bool:
        return self.suppressed_for is None

    @property
    def masked(self) -> str:
        return mask_address(self.channel, self.address)

    @property
    def may_choose(self) -> bool:
        """Return whether the debtor can choose. Only suppressions by the debtor can be lifted
        here."""
        return self.suppressed_for in (None, "DEBTOR")


@dataclass(frozen=True, slots=True)
class ContactWayChanges:
    """The addresses to suppress, and those whose suppression to lift."""

    suppressed: Sequence[ContactWay]
    lifted: Sequence[ContactWay]


def compute_way_changes(
    ways: Sequence[ContactWay], wanted: Collection[str]
) -> ContactWayChanges | None:
    """Compute the changes that leave exactly the `wanted` channels in use. Return None if no
    channel would be left."""
    free = [way for way in ways if way.may_choose]
    if free and not any(way.channel in wanted for way in free):
        return None
    return ContactWayChanges(
        [way for way in free if way.is_used and way.channel not in wanted],
        [way for way in free if not way.is_used and way.channel in wanted],
    )


def parse_address(
    channel: NoticeChannel, typed: str, on_file: str | None
) -> tuple[str, AddressFault | None]:
    """Parse an entered address. Return it as it is stored, with a fault or None. A number without a
    country code is read in the country of `on_file`, the number on file."""
    typed = typed.strip()[:_MAX_LENGTH]
    address = typed if channel == "EMAIL" else _parse_number(typed, on_file)
    if channel == "EMAIL" and not is_email_address(typed):
        return typed, "WRONG_EMAIL"
    if address is None:
        return typed, "WRONG_NUMBER"
    if on_file and normalize_address(channel, address) == normalize_address(channel, on_file):
        return typed, "SAME"
    return address, None


def _parse_number(typed: str, on_file: str | None) -> str | None:
    try:
        region = None
        if on_file is not None:
            region = phonenumbers.region_code_for_number(phonenumbers.parse(on_file))
        number = phonenumbers.parse(typed, region)
    except phonenumbers.NumberParseException:
        return None
    if not _is_mobile(number):
        return None
    written: str = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return written


def _is_mobile(number: phonenumbers.PhoneNumber) -> bool:
    """Return whether a text message to this number costs as much as to any mobile number. Satellite
    and ship numbers (+870, +881) also count as mobile, but they belong to no country: a message
    costs many times as much, and the owner of the number may receive a share."""
    has_country = phonenumbers.region_code_for_number(number) not in _REGIONS_WITHOUT_COUNTRY
    return has_country and phonenumbers.number_type(number) in _MOBILE


def render_address(channel: NoticeChannel, address: str) -> str:
    """Render the address so that a reader can check it. A phone number is grouped as in its
    country."""
    if channel == "EMAIL":
        return address
    try:
        number = phonenumbers.parse(address)
    except phonenumbers.NumberParseException:
        return address
    shown: str = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    return shown


class ShownAddress(msgspec.Struct, frozen=True, gc=False):
    """An address that can be changed. `name` is its name in the page's address. `masked` is None if
    no address is on file."""

    name: str
    channel: NoticeChannel
    masked: str | None


class PreferencesPage(Page, frozen=True):
    template: ClassVar[str] = "preferences.html"

    languages: Sequence[Language]
    claims_language: str
    ways: Sequence[ContactWay]
    addresses: Sequence[ShownAddress]
    # True if the session may change addresses without another proof.
    may_change: bool
    # What was saved: language, channels, email or sms.
    saved: str | None
    # True if the choice was refused because no channel would be left.
    is_last_channel: bool


class UnsubscribePage(Page, frozen=True):
    template: ClassVar[str] = "unsubscribe.html"

    # The message's reference in the address.
    reference: str
    is_done: bool


class AddressPage(Page, frozen=True):
    template: ClassVar[str] = "address.html"

    # The name in the page's address.
    what: str
    channel: NoticeChannel
    typed: str
    fault: AddressFault | None
    # The address on file.
    masked: str | None
    # True if the form belonged to a session that was replaced by this one.
    is_stale: bool


def describe_preferences(
    opened: OpenedClaim, context: DebtorPageContext, languages: Mapping[str, Language],
    ways: Sequence[ContactWay], *, saved: str | None, is_last_channel: bool,
) -> PreferencesPage:  # fmt: skip
    """Describe the page. `languages` are the installation's."""
    language = opened.facts.language
    return PreferencesPage(
        languages=[languages[code] for code in context.offered],
        claims_language=language if language in context.offered else context.language,
        ways=ways,
        addresses=_list_addresses(opened),
        may_change=opened.session.level.reaches(Level.CODE),
        saved=saved,
        is_last_channel=is_last_channel,
    )


def mask_address_on_file(opened: OpenedClaim, channel: NoticeChannel) -> str | None:
    """Return the masked address on file, or None if there is none."""
    on_file = opened.facts.on_file.find(channel)
    return mask_address(channel, on_file) if on_file else None


def _list_addresses(opened: OpenedClaim) -> list[ShownAddress]:
    """List the changeable addresses whose channel the merchant uses, because a code can be sent
    only by these channels."""
    return [
        ShownAddress(name, channel, mask_address_on_file(opened, channel))
        for name, channel in CHANGEABLE.items()
        if channel in opened.merchant.configuration.channels
    ]
