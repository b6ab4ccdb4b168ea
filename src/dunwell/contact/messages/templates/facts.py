"""Everything a placeholder can need about one claim, as plain values.

Cents and dates only: how they read is the rendering's business and differs by language, so the
same facts serve every language and every channel. Pure.
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from dunwell.accounts.installation.installation_file import Operator
from dunwell.core.claims.fields import DebtorName

# Stands for the code that an e-mail or a text is checked by (`codes`), wherever content is stored
# or shown; as long as what it stands for.
CHECK_MASK = "_chk_code"
ItemType = Literal["PRIMARY", "COLLECTION_FEE", "DUNNING_FEE"]


@dataclass(frozen=True, slots=True)
class MessageItem:
    type: ItemType
    value_cents: int
    reference: str | None = None
    item_date: date | None = None
    due_date: date | None = None


@dataclass(frozen=True, slots=True)
class MessageClaim:
    claim_id: int
    reference_number: str
    currency: str
    items: tuple[MessageItem, ...]
    total_cents: int
    outstanding_cents: int
    # The sum of the fee items.
    fees_cents: int
    # Of the first PRIMARY item.
    due_date: date | None = None
    customer_number: str | None = None
    contract_number: str | None = None


@dataclass(frozen=True, slots=True)
class CreditorFacts:
    """The merchant as debtors see it. The address may have several lines."""

    name: str
    legal_name: str
    legal_address: str
    email: str
    phone: str | None = None
    register: str | None = None
    supervisory_authority: str | None = None
    vat_id: str | None = None
    representatives: tuple[str, ...] = ()
    # Who runs the service for it, or collects for it; none: it does so itself.
    operator: Operator | None = None
    bank_iban: str | None = None
    bank_holder: str | None = None
    bank_bic: str | None = None
    # The brand's, as #rrggbb.
    color: str | None = None
    # Whether its e-mails show one.
    has_logo: bool = False


@dataclass(frozen=True, slots=True)
class LandingFacts:
    """The debtor's page. `url` bears the token, `code` is in groups; in what is stored both are
    masked (`links.TOKEN_MASK`, `codes.CODE_MASK`)."""

    url: str | None = None
    code: str | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class MessageFacts:
    claim: MessageClaim
    debtor: DebtorName
    creditor: CreditorFacts
    # The day in the merchant's zone.
    today: date
    landing: LandingFacts = LandingFacts()
    # The last day on which a transfer is recorded before the process goes on; none: nothing is
    # foreseen, or that day is too near.
    pay_by: date | None = None
