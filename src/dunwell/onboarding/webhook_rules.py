"""What the webhooks of a merchant file must keep: addresses we may call, known types. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from dunwell.errors import Fault, ValidationError
from dunwell.events.endpoint import WantedEndpoint, check_endpoint
from dunwell.kit.shape import read_if_fits
from dunwell.onboarding.file import WebhookPart


def find_webhook_faults(document: Mapping[str, Any], *, is_development: bool) -> Iterator[Fault]:
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
        try:
            check_endpoint(to_wanted(part), is_development=is_development)
        except ValidationError as refusal:
            for fault in refusal.faults:
                yield Fault(path + fault.path, fault.message, fault.code)


def to_wanted(part: WebhookPart, kept: str | None = None) -> WantedEndpoint:
    """kept: the authorization of the endpoint that is there, for a file that says none."""
    authorization = kept if part.authorization is UNSET else part.authorization
    return WantedEndpoint(part.url, tuple(part.events), authorization)
