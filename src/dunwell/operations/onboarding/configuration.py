"""Compute a merchant's settings once a file is applied, and show settings under the file's keys.

A key that is absent from the file leaves the stored value unchanged. This holds for the top level,
for the keys of `payment` and `landingPage`, and for each channel of `channels`. Every other object
(legal, contact, brand, guards, a bank account, a channel and so on) replaces the stored one. Pure.
"""

import hashlib
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType, structs
from schwifty import IBAN

from dunwell.accounts.merchants.configuration import BankAccount, Configuration, Logo
from dunwell.accounts.merchants.legal_gaps import find_gaps
from dunwell.operations.onboarding.checking import CheckedFile

_DEFAULT_CURRENCY = "EUR"
_MERGED_OBJECTS = ("payment", "landingPage", "channels")


def merge_configuration(checked: CheckedFile, before: Configuration | None) -> Configuration:
    """Return the settings after the file is applied. `before` is None for a new merchant."""
    file = checked.file
    before = before or Configuration(file.language, file.timezone, _DEFAULT_CURRENCY)
    stored = msgspec.to_builtins(before)
    given = {key: value for key, value in checked.document.items() if key in stored}
    for key in _MERGED_OBJECTS:
        given[key] = {**stored[key], **given.get(key, {})}
    if file.brand is not UNSET:
        given["brand"] = {**given["brand"], "logo": msgspec.to_builtins(checked.logo)}
    return _normalize(msgspec.convert({**stored, **given}, Configuration))


def _normalize(configuration: Configuration) -> Configuration:
    """Return the settings with one spelling for each value, so that files that mean the same do not
    differ."""
    payment, plan = configuration.payment, configuration.modalities.plan
    brand, page = configuration.brand, configuration.landing_page
    if payment.bank_account is not None:
        payment = structs.replace(payment, bank_account=_normalize_account(payment.bank_account))
    if plan is not None:
        plan = structs.replace(plan, counts=tuple(sorted(plan.counts or ())))
    if brand.color is not None:
        brand = structs.replace(brand, color=brand.color.lower())
    verification = {name: each for name, each in page.verification.items() if each != "NONE"}
    return structs.replace(
        configuration,
        payment=payment,
        modalities=structs.replace(configuration.modalities, plan=plan),
        brand=brand,
        landing_page=structs.replace(page, verification=verification),
    )


def _normalize_account(account: BankAccount) -> BankAccount:
    """Return the account with IBAN and BIC in capitals, without spaces."""
    bic = None if account.bic is None else account.bic.replace(" ", "").upper()
    return BankAccount(iban=IBAN(account.iban).compact, holder=account.holder, bic=bic)


def describe_gaps(checked: CheckedFile, before: Configuration | None) -> list[str] | UnsetType:
    """Return what the law requires and the settings lack once the file is applied, if anything."""
    gaps = find_gaps(merge_configuration(checked, before))
    return [f"{gap.key}: {gap.reason}" for gap in gaps] or UNSET


def render_configuration(name: str, configuration: Configuration) -> dict[str, Any]:
    """Return the name and the settings under the file's keys, for showing differences."""
    # By way of JSON, which has lists where the structs have tuples.
    settings = msgspec.json.decode(msgspec.json.encode(configuration))
    document = {"name": name, **settings}
    document["brand"]["logo"] = _describe_logo(configuration.brand.logo)
    return document


def _describe_logo(logo: Logo | None) -> str | None:
    """Return enough to tell one image from another."""
    if logo is None:
        return None
    digest = hashlib.sha256(logo.content).hexdigest()[:8]
    where = "" if logo.png else ", not in e-mails yet"
    return f"{logo.content_type}, {len(logo.content)} bytes, {digest}{where}"
