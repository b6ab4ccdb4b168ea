"""What the webhooks of a merchant file must keep: their form, by the file alone, and that they may
be sent there, by what the installation file says of the merchant. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from dunwell.accounts.installation.webhook_networks import WebhookReach
from dunwell.core.events.webhooks.endpoint import (
    WantedEndpoint,
    find_form_faults,
    find_reach_faults,
)
from dunwell.operations.onboarding.file import WebhookPart
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import read_if_fits


def find_webhook_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Parts of another shape are left out: the schema has reported them."""
    entries = document.get("webhooks")
    seen: set[str] = set()
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        part = read_if_fits(entry, WebhookPart)
        if part is None:
            continue
        path = f"/webhooks/{index}"
        if part.url in seen:
            yield Fault(f"{path}/url", "This address is in the list already.", "REPEATED")
        seen.add(part.url)
        for fault in find_form_faults(to_wanted(part)):
            yield Fault(path + fault.path, fault.message, fault.code)


def find_unreached_webhooks(
    parts: Sequence[WebhookPart], reach: WebhookReach, *, is_development: bool
) -> Iterator[Fault]:
    """reach: where the merchant's webhooks may be sent, as the installation file says."""
    for index, part in enumerate(parts):
        for fault in find_reach_faults(part.url, reach, is_development=is_development):
            yield Fault(f"/webhooks/{index}{fault.path}", fault.message, fault.code)


def to_wanted(part: WebhookPart, kept: str | None = None) -> WantedEndpoint:
    """kept: the authorization of the endpoint that is there, for a file that says none."""
    authorization = kept if part.authorization is UNSET else part.authorization
    return WantedEndpoint(part.url, tuple(part.events), authorization)
