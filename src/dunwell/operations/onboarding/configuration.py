"""From a merchant file to the configuration that is stored, and back into the file's words.

Absent keys leave what stands: at the top, in `payment` and `landingPage`, and each channel of
`channels`. The other objects (legal, contact, brand, letters, guards, modalities, disputes, a bank
account, a channel) are stated whole. Pure.
"""

import hashlib
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from schwifty import IBAN

from dunwell.accounts.merchants.configuration import (
    BankAccount,
    Brand,
    ChannelSetup,
    Configuration,
    Guards,
    LandingPage,
    Letters,
    Logo,
    MerchantContact,
    PaymentMethod,
    PaymentSettings,
    QuietHours,
)
from dunwell.accounts.merchants.legal_gaps import find_gaps
from dunwell.operations.onboarding.file import (
    BankAccountPart,
    BrandPart,
    ContactPart,
    GuardsPart,
    MerchantFile,
)
from dunwell.operations.onboarding.rules import list_channels
from dunwell.operations.onboarding.sections import (
    read_disputes,
    read_legal,
    read_modalities,
    read_partial,
    read_privacy,
    read_verification,
    render_disputes,
    render_legal,
    render_modalities,
    render_partial,
    render_privacy,
    render_verification,
)

Stored = TypeVar("Stored", bound=msgspec.Struct)

_DEFAULT_CURRENCY = "EUR"


def merge_configuration(
    file: MerchantFile, logo: Logo | None, standing: Configuration | None
) -> Configuration:
    """The merchant's configuration once the file is applied; `logo` is the image it names."""
    before = standing or Configuration(file.language, file.timezone, _DEFAULT_CURRENCY)
    channels = {} if file.channels is UNSET else list_channels(file.channels)
    return Configuration(
        language=file.language,
        timezone=file.timezone,
        currency=before.currency if file.currency is UNSET else file.currency,
        legal=before.legal if file.legal is UNSET else read_legal(file.legal),
        contact=before.contact if file.contact is UNSET else _copy(file.contact, MerchantContact),
        privacy=before.privacy if file.privacy is UNSET else read_privacy(file.privacy),
        brand=before.brand if file.brand is UNSET else _read_brand(file.brand, logo),
        landing_page=_merge_page(file, before.landing_page),
        payment=_merge_payment(file, before.payment),
        letters=before.letters if file.letters is UNSET else _copy(file.letters, Letters),
        guards=before.guards if file.guards is UNSET else _read_guards(file.guards),
        modalities=(
            before.modalities if file.modalities is UNSET else read_modalities(file.modalities)
        ),
        disputes=before.disputes if file.disputes is UNSET else read_disputes(file.disputes),
        forbidden_words=(
            before.forbidden_words
            if file.forbidden_words is UNSET
            else {language: tuple(words) for language, words in file.forbidden_words.items()}
        ),
        channels={
            **before.channels,
            **{
                name: ChannelSetup(each.adapter, each.sender, each.provider)
                for name, each in channels.items()
            },
        },
    )


def describe_gaps(
    file: MerchantFile, logo: Logo | None, standing: Configuration | None
) -> list[str] | UnsetType:
    """What the law asks for and is lacking once the file is applied; UNSET: nothing is."""
    gaps = find_gaps(merge_configuration(file, logo, standing))
    return [f"{gap.key}: {gap.reason}" for gap in gaps] or UNSET


def render_configuration(name: str, configuration: Configuration) -> dict[str, Any]:
    """Name and configuration under the file's keys, for showing differences."""
    payment, channels = configuration.payment, configuration.channels
    return {
        "name": name,
        "language": configuration.language,
        "timezone": configuration.timezone,
        "currency": configuration.currency,
        "legal": render_legal(configuration.legal),
        "contact": _render(configuration.contact, ContactPart),
        "privacy": render_privacy(configuration.privacy),
        "brand": {
            "logo": _describe_logo(configuration.brand.logo),
            "color": configuration.brand.color,
        },
        "landingPage": {
            "languages": list(configuration.landing_page.languages),
            "verification": render_verification(configuration.landing_page),
            "features": list(configuration.landing_page.features),
            "advice": dict(configuration.landing_page.advice),
        },
        "payment": {
            "methods": [{"provider": each.provider} for each in payment.methods],
            "bankAccount": _render(payment.bank_account, BankAccountPart),
            "allocation": payment.allocation,
            "partial": render_partial(payment.partial),
        },
        "channels": {channel: _describe_channel(setup) for channel, setup in channels.items()},
        "letters": {"postalDays": configuration.letters.postal_days},
        "guards": _render_guards(configuration.guards),
        "modalities": render_modalities(configuration.modalities),
        "disputes": render_disputes(configuration.disputes),
        "forbiddenWords": {
            language: list(words) for language, words in configuration.forbidden_words.items()
        },
    }


def _merge_payment(file: MerchantFile, before: PaymentSettings) -> PaymentSettings:
    if file.payment is UNSET:
        return before
    account, allocation = file.payment.bank_account, file.payment.allocation
    methods, partial = file.payment.methods, file.payment.partial
    return PaymentSettings(
        methods=(
            before.methods
            if methods is UNSET
            else tuple(PaymentMethod(each.provider) for each in methods)
        ),
        bank_account=before.bank_account if account is UNSET else _read_account(account),
        allocation=before.allocation if allocation is UNSET else allocation,
        partial=before.partial if partial is UNSET else read_partial(partial),
    )


def _merge_page(file: MerchantFile, before: LandingPage) -> LandingPage:
    page = file.landing_page
    if page is UNSET:
        return before
    languages, verification, features = page.languages, page.verification, page.features
    return LandingPage(
        languages=before.languages if languages is UNSET else tuple(languages),
        verification=(
            before.verification if verification is UNSET else read_verification(verification)
        ),
        features=before.features if features is UNSET else tuple(features),
        advice=before.advice if page.advice is UNSET else page.advice,
    )


def _read_guards(part: GuardsPart) -> Guards:
    quiet = part.quiet_hours
    return Guards(
        part.max_contacts_per_day,
        part.max_contacts_per_week,
        QuietHours(quiet.since, quiet.until) if quiet else None,
    )


def _describe_channel(setup: ChannelSetup) -> dict[str, str | None]:
    if setup.provider is not None:
        return {"provider": setup.provider, "from": setup.sender}
    return {"adapter": setup.adapter, "from": setup.sender}


def _render_guards(guards: Guards) -> dict[str, Any]:
    quiet = guards.quiet_hours
    return {
        "maxContactsPerDay": guards.max_contacts_per_day,
        "maxContactsPerWeek": guards.max_contacts_per_week,
        "quietHours": {"from": quiet.since, "to": quiet.until} if quiet else None,
    }


def _read_brand(part: BrandPart, logo: Logo | None) -> Brand:
    return Brand(logo, None if part.color is None else part.color.lower())


def _describe_logo(logo: Logo | None) -> str | None:
    """Enough to tell one image from another."""
    if logo is None:
        return None
    digest = hashlib.sha256(logo.content).hexdigest()[:8]
    where = "" if logo.png else ", not in e-mails yet"
    return f"{logo.content_type}, {len(logo.content)} bytes, {digest}{where}"


def _read_account(part: BankAccountPart) -> BankAccount:
    """IBAN and BIC without spaces, in capitals."""
    bic = None if part.bic is None else part.bic.replace(" ", "").upper()
    return BankAccount(iban=IBAN(part.iban).compact, holder=part.holder, bic=bic)


def _copy(part: msgspec.Struct, shape: type[Stored]) -> Stored:
    return shape(**msgspec.structs.asdict(part))


def _render(stored: msgspec.Struct | None, shape: type[msgspec.Struct]) -> Any:
    return None if stored is None else msgspec.to_builtins(_copy(stored, shape))
