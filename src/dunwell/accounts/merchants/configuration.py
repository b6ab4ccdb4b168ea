"""The settings of a merchant, in the shape of the merchant file (CONTRACT 11).

One structure serves for checking a file, for comparing it with what is stored, for writing it back,
and for the JSON document in `merchants.configuration`. A limit given here also applies to documents
that are stored already, so tightening one needs a migration. Credentials, webhooks, workflows and
assignment rules have their own tables. Pure.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from dunwell.platform.text.codes import find_timezone_country

Channel = Literal["EMAIL", "SMS", "LETTER"]
CHANNELS: tuple[Channel, ...] = get_args(Channel)
# What a debtor can be asked for before the page shows more: something the debtor knows, or a
# six-digit code that is sent to the address on file.
VerificationMethod = Literal[
    "POSTAL_CODE", "DATE_OF_BIRTH", "CONTRACT_NUMBER", "CUSTOMER_NUMBER", "CODE"
]
VERIFICATION_METHODS: tuple[VerificationMethod, ...] = get_args(VerificationMethod)
# What a debtor's page offers in addition to paying and disputing: the claim's files, and the choice
# of language, channels and addresses.
PageFeature = Literal["DOCUMENTS", "PREFERENCES"]
PAGE_FEATURES: tuple[PageFeature, ...] = get_args(PageFeature)
# The legal basis for processing personal data: GDPR, Article 6(1) (b), (f) and (c).
LegalBasis = Literal["CONTRACT", "LEGITIMATE_INTEREST", "LEGAL_OBLIGATION"]
Allocation = Literal["COSTS_FIRST", "PRIMARY_FIRST"]
# The languages of the debtor's pages. A new language needs a catalogue and its code here.
PAGE_LANGUAGES = ("de", "en")

ShortText = Annotated[str, Meta(min_length=1, max_length=255)]
# A text that may have several lines.
LongText = Annotated[str, Meta(min_length=1, max_length=2_000)]
AdviceText = Annotated[
    str, Meta(max_length=500, pattern=r"\S", description="words, at most 500 characters")
]
Color = Annotated[
    str,
    Meta(
        pattern=r"^#[0-9A-Fa-f]{6}$(?!\n)",
        description='a colour as "#rrggbb", in quotes',
    ),
]
# `(?!\n)`: Python's `$` alone would let a line break pass.
TimeOfDay = Annotated[
    str,
    Meta(
        pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$(?!\n)",
        description="a time of day as HH:MM, in quotes",
    ),
]
Cents = Annotated[
    str,
    Meta(
        pattern=r"^[1-9][0-9]{0,11}$(?!\n)",
        description="an amount in minor units as a string of 1 to 12 digits without leading zero",
    ),
]
ReasonName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Z][A-Z0-9_]{1,63}$(?!\n)",
        description="a name of capital letters, digits and _, such as WRONG_SIZE",
    ),
]


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class LegalDetails(_Settings, frozen=True):
    """Who the creditor is, as shown to debtors."""

    name: ShortText
    address: LongText
    register: ShortText | None = None
    supervisory_authority: ShortText | None = None
    vat_id: ShortText | None = None
    # The people who represent a company. For a sole trader, the owner.
    representatives: tuple[ShortText, ...] = ()
    # The country of the creditor's seat, such as "DE". None: that of the merchant's time zone.
    country: ShortText | None = None


class Retention(_Settings, frozen=True):
    """How many years data are kept: the data of a claim, counted from its end, and the records that
    the law requires."""

    claim_years: Annotated[int, Meta(ge=1, le=30)]
    record_years: Annotated[int, Meta(ge=1, le=30)] | None = None


class PrivacyNotice(_Settings, frozen=True):
    """The information that Articles 13 and 14 GDPR require and that differs between merchants."""

    # The supervisory authority for complaints, with its address.
    authority: LongText
    basis: Annotated[tuple[LegalBasis, ...], Meta(min_length=1)]
    retention: Retention
    # The controller of the data, if it is not the creditor alone.
    controller: LongText | None = None
    # How to reach the data protection officer, if there is one.
    officer: LongText | None = None


class MerchantContact(_Settings, frozen=True):
    email: ShortText
    phone: ShortText | None = None
    hours: ShortText | None = None


class Logo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checked image of at most 50 KB: image/svg+xml, image/png, image/jpeg or image/webp.

    An SVG holds only shapes and text: no script, no style sheet, nothing loaded from elsewhere. The
    merchant file has the image's path or a "data:" address in its place.
    """

    content_type: str
    content: bytes
    # The same image as a small PNG for mail programs.
    png: bytes | None = None


class Brand(_Settings, frozen=True):
    """How a merchant's messages and pages look."""

    logo: Logo | None = None
    color: Color | None = None


class LandingPage(_Settings, frozen=True):
    # The languages that a debtor can choose, of PAGE_LANGUAGES.
    languages: Annotated[tuple[str, ...], Meta(min_length=1)] = PAGE_LANGUAGES
    # The proofs that a link asks for before it opens, by the channel by which the link was sent:
    # the preferred proof first. A link of an absent channel opens without a proof.
    verification: dict[Channel, Literal["NONE"] | tuple[VerificationMethod, ...]] = msgspec.field(
        default_factory=dict
    )
    features: tuple[PageFeature, ...] = PAGE_FEATURES
    # Where debtors find advice, by language, in place of the standard text.
    advice: dict[str, AdviceText] = msgspec.field(default_factory=dict)

    def list_proofs(self, channel: Channel) -> Sequence[VerificationMethod]:
        """Return what links sent by this channel ask for."""
        wanted = self.verification.get(channel, ())
        return () if wanted == "NONE" else wanted


class BankAccount(_Settings, frozen=True):
    iban: ShortText
    holder: ShortText
    bic: ShortText | None = None


# The means of payment of a provider's checkout. CARD includes the wallets that the provider offers.
PaymentMeans = Literal[
    "CARD", "PAYPAL", "IDEAL", "KLARNA", "PAY_BY_BANK", "SEPA_DEBIT", "BANK_TRANSFER"
]


class PaymentMethod(_Settings, frozen=True, omit_defaults=True):
    """A way to pay on the debtor's page: a payment provider's account of the installation file, or
    `sandbox`, and the means of payment. Without means, the provider's page asks for it."""

    provider: ShortText
    means: PaymentMeans | None = None


class PartialPaymentSettings(_Settings, frozen=True):
    """The partial payments that a debtor may make. At least one of the two is set."""

    # The smallest amount that a debtor may choose to pay. None: the debtor cannot choose an amount.
    min_amount: Cents | None = msgspec.field(default=None, name="min")
    # Whole items can be paid, each with the fees that were added for it.
    items: bool = False

    @property
    def min_cents(self) -> int | None:
        return None if self.min_amount is None else int(self.min_amount)


class DirectDebitSettings(_Settings, frozen=True):
    """SEPA direct debits for the instalments of payment plans."""

    # The creditor identifier, such as "DE98ZZZ09999999999".
    creditor_id: ShortText
    # The account that receives the money. The holder is the name that the bank knows.
    account: BankAccount
    # How many days before a debit the debtor is notified of it.
    pre_notification_days: Annotated[int, Meta(ge=1, le=60)] = 14
    # How many banking days before a debit the bank needs the file.
    lead_days: Annotated[int, Meta(ge=1, le=10)] = 2
    # A bank connection of the installation file. None: users download the files.
    deliver_to: ShortText | None = None
    # True if a second user releases each file.
    second_release: bool = False


class PaymentSettings(_Settings, frozen=True):
    # In the order in which they are offered.
    methods: tuple[PaymentMethod, ...] = ()
    bank_account: BankAccount | None = None
    # Which items a payment pays first (CONTRACT 4).
    allocation: Allocation = "COSTS_FIRST"
    # None: only the whole amount can be paid.
    partial: PartialPaymentSettings | None = None
    # None: no direct debits.
    direct_debit: DirectDebitSettings | None = None
    # The account of the installation file's payment providers at which debtors give mandates, and
    # through which instalments are collected with these mandates. None: debtors give mandates on
    # Dunwell's pages.
    direct_debit_provider: ShortText | None = None


class ChannelSetup(_Settings, frozen=True, omit_defaults=True):
    """What sends the messages of a channel, and the sender that debtors see. Exactly one of
    `adapter` and `provider` is set; a provider is one of the installation file."""

    adapter: ShortText | None = None
    sender: ShortText | None = msgspec.field(default=None, name="from")
    provider: ShortText | None = None


class LetterSettings(_Settings, frozen=True):
    """How long letters take. Postal days are Monday to Saturday without public holidays."""

    # From the hand-over of a letter to the day on which it can have arrived. The default is 2,
    # because a letter that is handed over after the day's last collection arrives on the second
    # postal day.
    postal_days: Annotated[int, Meta(ge=1, le=10)] = 2


class QuietHours(_Settings, frozen=True):
    """When no e-mail and no SMS is sent, in the merchant's time zone; `until` is exclusive. The
    period spans midnight if `until` is before `since`."""

    since: TimeOfDay = msgspec.field(name="from")
    until: TimeOfDay = msgspec.field(name="to")


class Guards(_Settings, frozen=True):
    """How often a person may be contacted for all claims together: on one day, and within seven
    days, in the merchant's time zone."""

    max_contacts_per_day: Annotated[int, Meta(ge=1)] = 1
    max_contacts_per_week: Annotated[int, Meta(ge=1)] = 3
    quiet_hours: QuietHours | None = None


class PlanSettings(_Settings, frozen=True):
    """The payment plans that debtors can request: with one of these numbers of instalments, or with
    any number if no instalment is below the minimum. If both are set, both apply."""

    counts: tuple[Annotated[int, Meta(ge=2, le=36)], ...] | None = ()
    min_rate: Cents | None = None
    first_date_within_days: Annotated[int, Meta(ge=1, le=90)] = 30
    # A request within these limits is approved at once.
    auto_approve: bool = False

    @property
    def min_rate_cents(self) -> int | None:
        return None if self.min_rate is None else int(self.min_rate)


class DeferralSettings(_Settings, frozen=True):
    max_days: Annotated[int, Meta(ge=1, le=365)]
    auto_approve: bool = False


class ModalitySettings(_Settings, frozen=True):
    """Which payment modalities a merchant offers. A modality that is None is not offered."""

    plan: PlanSettings | None = None
    deferment: DeferralSettings | None = None
    # For how many days a debtor who cannot pay at all may pause the claim. With 0, such a debtor
    # cannot pause it.
    pause_days: Annotated[int, Meta(ge=0, le=60)] = 14
    # Business days within which a request is answered.
    answer_within_days: Annotated[int, Meta(ge=1, le=60)] = 3


class DisputeReason(_Settings, frozen=True):
    """A merchant's settings for one dispute reason: one of the contract's, or one that the merchant
    added."""

    type: ReasonName
    # The label that debtors read, by language. A reason of the contract has a standard label.
    labels: dict[str, ShortText] = msgspec.field(name="label", default_factory=dict)
    # True if the reason is hidden from debtors.
    is_hidden: bool = msgspec.field(name="hidden", default=False)


class DisputeSettings(_Settings, frozen=True):
    reasons: Annotated[tuple[DisputeReason, ...], Meta(max_length=50)] = ()
    # Business days from the day on which a dispute is opened.
    answer_within_days: Annotated[int, Meta(ge=1, le=60)] = 10
    # Days without fees and messages after a response that leaves the claim open.
    quiet_days_after_answer: Annotated[int, Meta(ge=1, le=60)] = 7


class Configuration(_Settings, frozen=True):
    language: str
    timezone: str
    currency: str
    legal: LegalDetails | None = None
    contact: MerchantContact | None = None
    privacy: PrivacyNotice | None = None
    brand: Brand = msgspec.field(default_factory=Brand)
    landing_page: LandingPage = msgspec.field(default_factory=LandingPage)
    payment: PaymentSettings = msgspec.field(default_factory=PaymentSettings)
    channels: dict[Channel, ChannelSetup] = msgspec.field(default_factory=dict)
    letters: LetterSettings = msgspec.field(default_factory=LetterSettings)
    guards: Guards = msgspec.field(default_factory=Guards)
    modalities: ModalitySettings = msgspec.field(default_factory=ModalitySettings)
    disputes: DisputeSettings = msgspec.field(default_factory=DisputeSettings)
    # Words that texts may not use, by language, in place of the standard list of that language.
    forbidden_words: dict[str, tuple[ShortText, ...]] = msgspec.field(default_factory=dict)


def find_country(configuration: Configuration) -> str | None:
    """Return the country of the creditor's seat, or None if it is unknown."""
    named = configuration.legal.country if configuration.legal else None
    return named or find_timezone_country(configuration.timezone)


def list_missing_keys(configuration: Configuration) -> list[str]:
    """Return the keys of the merchant file that must be set before claims can be created."""
    missing = []
    if configuration.legal is None:
        missing.append("legal")
    if configuration.contact is None:
        missing.append("contact")
    if not configuration.channels:
        missing.append("channels")
    # Either payment.methods or payment.bankAccount is enough.
    if not configuration.payment.methods and configuration.payment.bank_account is None:
        missing.append("payment")
    return missing
