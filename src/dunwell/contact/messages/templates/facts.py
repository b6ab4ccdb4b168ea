"""The facts of one claim for placeholders, as plain values.

Amounts are in cents and dates are dates, so the same facts serve every language and channel;
rendering formats them. Pure.
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from dunwell.accounts.installation.installation_file import Operator
from dunwell.core.claims.fields import DebtorName

# Replaces the check code (`claim_links`) wherever content is stored or shown; it has the length of
# a check code.
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
    # The due date of the first PRIMARY item.
    due_date: date | None = None
    customer_number: str | None = None
    contract_number: str | None = None


@dataclass(frozen=True, slots=True)
class CreditorFacts:
    """The merchant as debtors know it. The address can have several lines."""

    name: str
    legal_name: str
    legal_address: str
    email: str
    phone: str | None = None
    register: str | None = None
    supervisory_authority: str | None = None
    vat_id: str | None = None
    representatives: tuple[str, ...] = ()
    # The operator or agency that acts for the creditor; None if the creditor acts itself.
    operator: Operator | None = None
    bank_iban: str | None = None
    bank_holder: str | None = None
    bank_bic: str | None = None
    # The brand color in the form #rrggbb.
    color: str | None = None
    # True if e-mails show a logo.
    has_logo: bool = False


@dataclass(frozen=True, slots=True)
class LandingFacts:
    """The debtor's page. `url` contains the token; `code` is in groups. Stored content has their
    masks (`claim_links.TOKEN_MASK`, `claim_links.CODE_MASK`)."""

    url: str | None = None
    code: str | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class MessageFacts:
    claim: MessageClaim
    debtor: DebtorName
    creditor: CreditorFacts
    # The date in the merchant's time zone.
    today: date
    landing: LandingFacts = LandingFacts()
    # The last day for a transfer to be recorded before the workflow continues. None if no step is
    # forecast or the day is too near.
    pay_by: date | None = None
