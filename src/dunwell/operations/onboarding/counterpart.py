"""A merchant's counterpart: the sandbox beside a live merchant, or the live merchant of a sandbox.
The two are known by their keys, and the second begins with the settings of the first. Pure."""

from typing import Any

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.operations.onboarding.write_file import write_settings

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
