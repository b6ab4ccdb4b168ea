"""What the operator set up for a merchant (CONTRACT 11), as one value.

Stored as one JSON document; credentials, webhooks, workflows and rules have tables of their own.
Pure.
"""

from typing import Literal, get_args

import msgspec

from dunwell.platform.text.codes import find_home

Channel = Literal["EMAIL", "SMS", "LETTER"]
CHANNELS: tuple[Channel, ...] = get_args(Channel)
# What a debtor's page can ask for before it shows more: what the debtor knows, or a code of six
# digits sent to the address on file.
Proof = Literal["POSTAL_CODE", "DATE_OF_BIRTH", "CONTRACT_NUMBER", "CUSTOMER_NUMBER", "CODE"]
PROOFS: tuple[Proof, ...] = get_args(Proof)
# What a debtor's page offers beside paying and objecting: the claim's files, and the choice of
# language, channels and addresses.
Feature = Literal["DOCUMENTS", "PREFERENCES"]
FEATURES: tuple[Feature, ...] = get_args(Feature)
# On what the law lets personal data be used for a claim: GDPR, Article 6(1) (b), (f) and (c).
Basis = Literal["CONTRACT", "LEGITIMATE_INTEREST", "LEGAL_OBLIGATION"]
Allocation = Literal["COSTS_FIRST", "PRIMARY_FIRST"]
# The languages of the debtor's pages. Another one is a catalogue more, and a code here.
PAGE_LANGUAGES = ("de", "en")


class Legal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who the creditor is, as shown to debtors. `address` may have several lines."""

    name: str
    address: str
    register: str | None = None
    supervisory_authority: str | None = None
    vat_id: str | None = None
    # Those who represent a company; the owner of a sole trader's.
    representatives: tuple[str, ...] = ()
    # Of its seat, as "DE"; none: that of the merchant's time zone.
    country: str | None = None


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long data are kept: of a claim, from its end; of what tax and trade law asks for."""

    claim_years: int
    record_years: int | None = None


class Privacy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What Articles 13 and 14 GDPR ask to be told, as far as it differs between merchants."""

    # Whom one can complain to, with its address.
    authority: str
    basis: tuple[Basis, ...]
    retention: Retention
    # Who decides about the data, if not the creditor alone; in several lines.
    controller: str | None = None
    # How the data protection officer is reached; none: there is none.
    officer: str | None = None


class MerchantContact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    email: str
    phone: str | None = None
    hours: str | None = None


class Logo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checked image of at most 50 KB: image/svg+xml, image/png, image/jpeg or image/webp.

    An SVG holds shapes and text alone: no script, no style sheet, nothing from elsewhere.
    """

    content_type: str
    content: bytes
    # The same as a small PNG, for mail programs; none of a logo from before there was one.
    png: bytes | None = None


class Brand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a merchant's messages and pages look. `color` is #rrggbb in small letters."""

    logo: Logo | None = None
    color: str | None = None


class LandingPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    # Those a debtor can choose among, of PAGE_LANGUAGES.
    languages: tuple[str, ...] = PAGE_LANGUAGES
    # By the channel a link went by, what it asks for, the most wanted first; where absent, a link
    # opens by itself.
    verification: dict[Channel, tuple[Proof, ...]] = msgspec.field(default_factory=dict)
    features: tuple[Feature, ...] = FEATURES
    # Language -> where debtors find advice, in place of our own words.
    advice: dict[str, str] = msgspec.field(default_factory=dict)


class BankAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    iban: str
    holder: str
    bic: str | None = None


class PaymentMethod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to pay on the debtor's page, by the name of the provider's adapter."""

    provider: str


class PartialPayments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a debtor may pay short of all that is outstanding."""

    # Any part from here on, in minor units; None: no part of one's own choice.
    min_cents: int | None = None
    # Whole items, each with the fees that were added for it.
    items: bool = False


class PaymentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    bank_account: BankAccount | None = None
    # Which items a payment pays first (CONTRACT 4).
    allocation: Allocation = "COSTS_FIRST"
    # In the order in which they are offered.
    methods: tuple[PaymentMethod, ...] = ()
    # None: the whole amount alone.
    partial: PartialPayments | None = None


class ChannelSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What carries a channel, an adapter or a line of the installation file by name, and the sender
    debtors see."""

    adapter: str | None = None
    sender: str | None = None
    provider: str | None = None


class Letters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long letters take. Postal days are Monday to Saturday without public holidays."""

    # From the hand-over of a letter to the day on which it can have arrived. Two, because a letter
    # that is handed over after the day's last collection arrives on the second postal day.
    postal_days: int = 2


class QuietHours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When no e-mail and no SMS goes out: HH:MM in the merchant's zone, `until` exclusive; past
    midnight when it is before `since`."""

    since: str
    until: str


class Guards(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a person may be contacted over all claims: on a day, and on it and the six days
    before, in the merchant's zone."""

    max_contacts_per_day: int = 1
    max_contacts_per_week: int = 3
    quiet_hours: QuietHours | None = None


class Plans(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The payment plans debtors can ask for: these numbers of rates, or any whose rates are not
    below the least one; both, when both are given."""

    counts: tuple[int, ...] = ()
    min_rate_cents: int | None = None
    first_date_within_days: int = 30
    # A request within the bounds needs no answer.
    auto_approve: bool = False


class Deferments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_days: int
    auto_approve: bool = False


class Modalities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which payment modalities a merchant offers; none of what is absent."""

    plan: Plans | None = None
    deferment: Deferments | None = None
    # So long a debtor who cannot pay at all may pause the claim; 0: not at all.
    pause_days: int = 14
    # Business days after the request within which debtors are promised an answer.
    answer_within_days: int = 3


class DisputeReason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a merchant says of a reason to dispute: one of the contract's, or one of its own."""

    type: str
    # Language -> what debtors read; a reason of the contract's has words without them.
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    # From debtors.
    is_hidden: bool = False


class Disputes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reasons: tuple[DisputeReason, ...] = ()
    # Business days from the day a dispute is opened on.
    answer_within_days: int = 10
    # So long nothing is done after an answer that leaves a claim open.
    quiet_days_after_answer: int = 7


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    language: str
    timezone: str
    currency: str
    legal: Legal | None = None
    contact: MerchantContact | None = None
    privacy: Privacy | None = None
    payment: PaymentSettings = msgspec.field(default_factory=PaymentSettings)
    channels: dict[Channel, ChannelSetup] = msgspec.field(default_factory=dict)
    brand: Brand = msgspec.field(default_factory=Brand)
    landing_page: LandingPage = msgspec.field(default_factory=LandingPage)
    letters: Letters = msgspec.field(default_factory=Letters)
    guards: Guards = msgspec.field(default_factory=Guards)
    modalities: Modalities = msgspec.field(default_factory=Modalities)
    disputes: Disputes = msgspec.field(default_factory=Disputes)
    # Language -> words that its texts may not use, in place of the standard list.
    forbidden_words: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


def find_country(configuration: Configuration) -> str | None:
    """Where the creditor has its seat."""
    named = configuration.legal.country if configuration.legal else None
    return named or find_home(configuration.timezone)


def find_missing(configuration: Configuration) -> list[str]:
    """The merchant-file keys still to be set before claims can be created; none: configured."""
    missing = []
    if configuration.legal is None:
        missing.append("legal")
    if configuration.contact is None:
        missing.append("contact")
    if not configuration.channels:
        missing.append("channels")
    # One of the two will do: payment.methods or payment.bankAccount.
    if not configuration.payment.methods and configuration.payment.bank_account is None:
        missing.append("payment")
    return missing
