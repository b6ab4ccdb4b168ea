"""Where a message goes to, as far as figures count it: an e-mail's domain, the country of a number
or of a postal address. Reports of what became of it name the same. Pure.
"""

from dunwell.messages.contact import Contact
from dunwell.sending.prices import UNKNOWN_COUNTRY, find_country


def find_destination(contact: Contact) -> str | None:
    """None: not known."""
    match contact.channel:
        case "EMAIL":
            return (contact.email or "").rpartition("@")[2].lower() or None
        case "SMS":
            country = find_country(contact.mobile_number or "")
            return None if country == UNKNOWN_COUNTRY else country
        case "LETTER":
            return (contact.address or {}).get("country")
