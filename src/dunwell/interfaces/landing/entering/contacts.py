"""Whether an e-mail address or a mobile number somebody typed is the one on file. Pure."""

from collections.abc import Mapping

import phonenumbers

from dunwell.contact.notices.notice import NoticeChannel


def find_contact(typed: str, addresses: Mapping[NoticeChannel, str]) -> NoticeChannel | None:
    """Which of the addresses on file was typed. Case does not count, nor how a number is written:
    with its country's code, or as it is dialled there."""
    email, number = addresses.get("EMAIL"), addresses.get("SMS")
    if email is not None and email.casefold() == typed.strip().casefold():
        return "EMAIL"
    if number is not None and _is_same_number(typed, number):
        return "SMS"
    return None


def _is_same_number(typed: str, on_file: str) -> bool:
    try:
        known = phonenumbers.parse(on_file)
        region = phonenumbers.region_code_for_number(known)
        return bool(phonenumbers.parse(typed, region) == known)
    except phonenumbers.NumberParseException:
        return False
