"""Writes a merchant as it is as a merchant file, so that applying it changes nothing, and finds the
counterpart of a sandbox or live merchant. Pure.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.assignment.rules import render_document
from dunwell.operations.onboarding.configuration import render_configuration
from dunwell.operations.onboarding.logo_image import write_data
from dunwell.operations.onboarding.standing import MerchantState
from dunwell.platform.text.differences import compute_revision


def write_settings(merchant: Merchant) -> dict[str, Any]:
    """The keys that stand in its configuration, as a file has them; what is not set is absent."""
    document: dict[str, Any] = _drop_absent(
        render_configuration(merchant.name, merchant.configuration)
    )
    logo = merchant.configuration.brand.logo
    if logo is not None:
        document["brand"]["logo"] = write_data(logo)
    # Null takes it back; absent keeps what is there.
    document["payment"].setdefault("partial", None)
    return document


def compute_parts_revision(document: Mapping[str, Any], keys: Collection[str]) -> str:
    """The revision of these keys of a document."""
    return compute_revision({key: document.get(key) for key in keys})


def write_file(standing: MerchantState) -> dict[str, Any]:
    """All that a file can say of a merchant that is there."""
    merchant = standing.merchant
    assert merchant is not None
    rules = standing.rules
    document = {
        "key": merchant.key,
        "sandbox": merchant.is_sandbox,
        "switchedToWorkflows": merchant.switched_to_workflows,
        **write_settings(merchant),
        "webhooks": [
            {"url": url, "events": list(each.types)} for url, each in standing.endpoints.items()
        ],
        "credentials": list(_list_credentials(standing)),
        **_write_processes(standing),
    }
    return document if rules is None else {**document, "assignmentRules": render_document(rules)}


def _list_credentials(standing: MerchantState) -> Iterator[dict[str, Any]]:
    for name, each in standing.credentials.items():
        if each.revoked_at is None:
            yield {
                "name": name,
                "requestsPerMinute": each.requests_per_minute,
                "scope": [str(scope) for scope in each.scopes],
            }


def _write_processes(standing: MerchantState) -> dict[str, Any]:
    scenarios = [
        {
            "name": name,
            "description": each.scenario.description,
            "definition": _drop_absent(msgspec.to_builtins(each.scenario.definition)),
        }
        for name, each in standing.scenarios.items()
    ]
    if scenarios:
        return {"scenarios": scenarios}
    return {
        "workflows": [
            {"name": name, "definition": _drop_absent(msgspec.to_builtins(each.current.definition))}
            for name, each in standing.workflows.items()
            if each.current is not None
        ]
    }


def _drop_absent(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _drop_absent(each) for name, each in value.items() if each is not None}
    return [_drop_absent(each) for each in value] if isinstance(value, list) else value


_SUFFIX = "-sandbox"


def find_counterpart_key(merchant: Merchant) -> str:
    """What its counterpart is called, if there is one; "": a sandbox that was named otherwise."""
    if not merchant.is_sandbox:
        return f"{merchant.key}{_SUFFIX}"
    return merchant.key.removesuffix(_SUFFIX) if merchant.key.endswith(_SUFFIX) else ""


def write_counterpart_settings(merchant: Merchant) -> dict[str, Any]:
    """Its settings as its counterpart can have them: a sandbox sends and pays nothing outside, and
    what carries a sandbox's messages and money is chosen anew for a live merchant."""
    settings = write_settings(merchant)
    payment, channels = settings["payment"], settings["channels"]
    if merchant.is_sandbox:
        payment["methods"] = []
        del settings["channels"]
        return settings
    payment["methods"] = [{"provider": "sandbox"}] if payment["methods"] else []
    settings["channels"] = {
        name: {key: value for key, value in each.items() if key == "from"} | {"adapter": "outbox"}
        for name, each in channels.items()
    }
    return settings
