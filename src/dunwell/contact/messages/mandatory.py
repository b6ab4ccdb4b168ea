"""The parts every message to a debtor has: creditor, amount, reference, link, contact.

What a channel's frame adds by itself counts. Whatever it does not add, only the operator's text can
give, so a text without it is not published. Pure.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.placeholders import ITEMS, LANDING_URL
from dunwell.platform.text.lazy_text import LazyText

Part = Literal["creditor", "amount", "reference", "link", "contact"]

# An e-mail's footer and a letter's head and foot name the creditor and how to reach it; a letter
# also prints reference, link and code. An SMS is what the operator wrote: its link leads to
# reference and contact.
WANTED: Mapping[Channel, tuple[Part, ...]] = {
    "EMAIL": ("amount", "reference", "link"),
    "SMS": ("creditor", "amount", "link"),
    "LETTER": ("amount",),
}
# Any one of these gives the part. The table of items ends with what is still to pay.
GIVEN_BY: Mapping[Part, tuple[str, ...]] = {
    "creditor": ("merchant.name", "merchant.legalName"),
    "amount": ("outstanding", ITEMS),
    "reference": ("claim.referenceNumber",),
    "link": (LANDING_URL,),
    "contact": ("merchant.email", "merchant.phone"),
}


def find_missing_parts(channel: Channel, used: Collection[str]) -> Iterator[Part]:
    """The parts of the channel's messages that none of the placeholders in use gives."""
    for part in WANTED[channel]:
        if not any(name in used for name in GIVEN_BY[part]):
            yield part


def describe_missing_part(channel: Channel, part: Part) -> LazyText:
    """What is missing, and how to mend it."""
    names = [name for name in GIVEN_BY[part] if not (channel == "SMS" and name == ITEMS)]
    choice = " or ".join(f"{{{{ {name} }}}}" for name in names)
    match part:
        case "creditor":
            return LazyText(
                "The text does not say who the creditor is; add %(choice)s.", choice=choice
            )
        case "amount":
            return LazyText(
                "The text does not say how much is to be paid; add %(choice)s.", choice=choice
            )
        case "reference":
            return LazyText(
                "The text does not say which claim it is about; add %(choice)s.", choice=choice
            )
        case "link":
            return LazyText(
                "The text does not say where the debtor's page is; add %(choice)s.", choice=choice
            )
        case "contact":
            return LazyText("The text does not say whom to ask; add %(choice)s.", choice=choice)
