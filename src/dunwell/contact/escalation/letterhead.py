"""What all of a merchant's messages share: who writes, in which language, which facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlsplit

from dunwell.accounts.installation.delivery_providers import FolderLine, Line, SftpLine
from dunwell.accounts.installation.operator import Operator
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.codes import CODE_MASK
from dunwell.contact.messages.contact import PlannedContact
from dunwell.contact.messages.creditors import find_creditor
from dunwell.contact.messages.facts import LandingFacts, MessageFacts
from dunwell.contact.messages.letters.sheet import USUAL_LAYOUT
from dunwell.contact.messages.links import TOKEN_MASK
from dunwell.core.workflows.definition import Definition
from dunwell.platform.crypto import KeyRing


@dataclass(frozen=True, slots=True)
class Letterhead:
    """Who writes, and where the debtor's page is."""

    merchant: Merchant
    public_url: str
    keys: KeyRing
    # Of the installation; none: nobody was named.
    operator: Operator | None = None
    # Of letters: where on the sheet what stands, as the merchant's line for them wants it.
    layout: str = USUAL_LAYOUT


def find_layout(merchant: Merchant, lines: Mapping[str, Line] | None) -> str:
    """lines: of the installation file."""
    setup = merchant.configuration.channels.get("LETTER")
    line = (lines or {}).get(setup.line) if setup and setup.line else None
    return line.layout if isinstance(line, FolderLine | SftpLine) else USUAL_LAYOUT


def choose_language(definition: Definition, claims: str | None, merchant: Merchant) -> str:
    """The claim's language, the merchant's, or the definition's first (CONTRACT 6)."""
    offered: Sequence[str] = definition.settings.languages
    wanted = (claims, merchant.configuration.language)
    return next((each for each in wanted if each is not None and each in offered), offered[0])


def gather_facts(
    head: Letterhead, planned: PlannedContact, today: date, pay_by: date | None
) -> MessageFacts:
    """Only a letter has a code: it counts as a known fact, which a link alone does not."""
    return MessageFacts(
        claim=planned.claim,
        debtor=planned.debtor,
        creditor=find_creditor(head.merchant, head.operator),
        today=today,
        landing=LandingFacts(
            url=f"{head.public_url}/q/{TOKEN_MASK}",
            code=CODE_MASK if planned.contact.channel == "LETTER" else None,
            domain=urlsplit(head.public_url).netloc,
        ),
        pay_by=pay_by,
    )
