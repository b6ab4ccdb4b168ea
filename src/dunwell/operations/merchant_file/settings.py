"""Merge the settings of a merchant with those of its file, render them as a file, and copy them to
its sandbox or live counterpart. Pure."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType, structs
from schwifty import IBAN

from dunwell.accounts.merchants.configuration import BankAccount, Configuration, Logo
from dunwell.accounts.merchants.legal_gaps import list_legal_gaps
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.assignment.rules import render_document
from dunwell.operations.merchant_file.check_file import CheckedFile
from dunwell.operations.merchant_file.direct_debit_rules import normalize_code
from dunwell.operations.merchant_file.logo_image import render_data_address
from dunwell.operations.merchant_file.merchant_state import MerchantState
from dunwell.platform.text.differences import compute_revision

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
    if payment.direct_debit is not None:
        debit = payment.direct_debit
        debit = structs.replace(
            debit,
            creditor_id=normalize_code(debit.creditor_id),
            account=_normalize_account(debit.account),
        )
        payment = structs.replace(payment, direct_debit=debit)
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
    """Describe each legally required setting that is still missing after the file is applied.
    Return UNSET if none is missing."""
    gaps = list_legal_gaps(merge_configuration(checked, before))
    return [f"{gap.key}: {gap.reason}" for gap in gaps] or UNSET


def render_configuration(name: str, configuration: Configuration) -> dict[str, Any]:
    """Return the name and the settings under the file's keys, to show differences between two of
    them."""
    # Converted through JSON, which has lists where the structs have tuples.
    settings = msgspec.json.decode(msgspec.json.encode(configuration))
    document = {"name": name, **settings}
    document["brand"]["logo"] = _describe_logo(configuration.brand.logo)
    return document


def _describe_logo(logo: Logo | None) -> str | None:
    """Describe the logo so that different images have different descriptions."""
    if logo is None:
        return None
    digest = hashlib.sha256(logo.content).hexdigest()[:8]
    note = "" if logo.png else ", not in e-mails yet"
    return f"{logo.content_type}, {len(logo.content)} bytes, {digest}{note}"


def render_settings(merchant: Merchant) -> dict[str, Any]:
    """Return the settings in the form of a file. Values that are not set are absent."""
    document: dict[str, Any] = _drop_absent(
        render_configuration(merchant.name, merchant.configuration)
    )
    logo = merchant.configuration.brand.logo
    if logo is not None:
        document["brand"]["logo"] = render_data_address(logo)
    # In a file, null removes the setting and an absent key keeps it.
    document["payment"].setdefault("partial", None)
    document["payment"].setdefault("directDebit", None)
    document["payment"].setdefault("directDebitProvider", None)
    return document


def compute_parts_revision(document: Mapping[str, Any], keys: Collection[str]) -> str:
    """Return the revision of the part of the document under these keys."""
    return compute_revision({key: document.get(key) for key in keys})


def render_merchant_file(state: MerchantState) -> dict[str, Any]:
    """Return everything that a file can say about the merchant."""
    merchant = state.merchant
    assert merchant is not None
    rules = state.rules
    document = {
        "key": merchant.key,
        "sandbox": merchant.is_sandbox,
        "switchedToWorkflows": merchant.switched_to_workflows,
        **render_settings(merchant),
        "webhooks": [
            {"url": url, "events": list(each.types)} for url, each in state.endpoints.items()
        ],
        "credentials": list(_list_credentials(state)),
        **_render_workflows(state),
    }
    return document if rules is None else {**document, "assignmentRules": render_document(rules)}


def _list_credentials(state: MerchantState) -> Iterator[dict[str, Any]]:
    for name, each in state.credentials.items():
        if each.revoked_at is None:
            yield {
                "name": name,
                "requestsPerMinute": each.requests_per_minute,
                "scope": [str(scope) for scope in each.scopes],
            }


def _render_workflows(state: MerchantState) -> dict[str, Any]:
    scenarios = [
        {
            "name": name,
            "description": each.scenario.description,
            "definition": _drop_absent(msgspec.to_builtins(each.scenario.definition)),
        }
        for name, each in state.scenarios.items()
    ]
    if scenarios:
        return {"scenarios": scenarios}
    return {
        "workflows": [
            {"name": name, "definition": _drop_absent(msgspec.to_builtins(each.current.definition))}
            for name, each in state.workflows.items()
            if each.current is not None
        ]
    }


def _drop_absent(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _drop_absent(each) for name, each in value.items() if each is not None}
    return [_drop_absent(each) for each in value] if isinstance(value, list) else value


_SANDBOX_SUFFIX = "-sandbox"


def find_counterpart_key(merchant: Merchant) -> str:
    """Return the key of the merchant's sandbox or live counterpart, or "" for a sandbox whose key
    does not end in "-sandbox"."""
    if not merchant.is_sandbox:
        return f"{merchant.key}{_SANDBOX_SUFFIX}"
    return (
        merchant.key.removesuffix(_SANDBOX_SUFFIX) if merchant.key.endswith(_SANDBOX_SUFFIX) else ""
    )


def build_counterpart_settings(merchant: Merchant) -> dict[str, Any]:
    """Return the settings for a new counterpart of the merchant. If the counterpart is a
    sandbox, channels and payment methods are replaced, because it sends nothing and moves no money.
    A live counterpart starts without any."""
    settings = render_settings(merchant)
    payment, channels = settings["payment"], settings["channels"]
    if merchant.is_sandbox:
        payment["methods"] = []
        payment["directDebit"] = None
        payment["directDebitProvider"] = None
        del settings["channels"]
        return settings
    payment["methods"] = [{"provider": "sandbox"}] if payment["methods"] else []
    # A sandbox moves no money.
    payment["directDebitProvider"] = None
    if payment["directDebit"] is not None:
        payment["directDebit"].pop("deliverTo", None)
    settings["channels"] = {
        name: {key: value for key, value in each.items() if key == "from"} | {"adapter": "outbox"}
        for name, each in channels.items()
    }
    return settings
