"""Where a merchant's webhooks may be sent: a key of the installation file, which no merchant can
change. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dunwell.accounts.installation.delivery_providers import LinePart, Text
from dunwell.platform.errors import Fault
from dunwell.platform.http.addresses import Network, is_never_granted
from dunwell.platform.text.shape import render_pointer

NetworkText = Annotated[str, Meta(min_length=1, max_length=50)]


class WebhookNetworks(LinePart, frozen=True):
    """The only networks that one merchant's webhooks reach."""

    # Its key.
    merchant: Text
    networks: Annotated[tuple[NetworkText, ...], Meta(min_length=1, max_length=100)]
    # OPTIONAL: its webhooks may be sent in clear there.
    tls: Literal["REQUIRED", "OPTIONAL"] = "REQUIRED"


@dataclass(frozen=True, slots=True)
class WebhookReach:
    """networks: the only ones that are connected to; none: every public address, no private one."""

    networks: tuple[Network, ...] = ()
    allows_http: bool = False


PUBLIC_REACH = WebhookReach()


def find_reach(entries: Sequence[WebhookNetworks] | None, merchant_key: str) -> WebhookReach:
    """What the installation file says of this merchant's webhooks."""
    for each in entries or ():
        if each.merchant == merchant_key:
            networks = tuple(ip_network(network) for network in each.networks)
            return WebhookReach(networks, allows_http=each.tls == "OPTIONAL")
    return PUBLIC_REACH


def read_reach(document: object, merchant_key: str) -> WebhookReach:
    """document: the key `webhookNetworks` as it is stored, None where there is none."""
    return find_reach(msgspec.convert(document or (), tuple[WebhookNetworks, ...]), merchant_key)


def find_webhook_network_faults(entries: Sequence[WebhookNetworks]) -> Iterator[Fault]:
    """Beyond their shape, with pointers into the file."""
    keys = [each.merchant for each in entries]
    for index, entry in enumerate(entries):
        if entry.merchant in keys[:index]:
            words = f'"{entry.merchant}" is named twice. Put its networks into one entry.'
            yield Fault(render_pointer(["webhookNetworks", index, "merchant"]), words, "REPEATED")
        for place, network in enumerate(entry.networks):
            words = _find_network_words(network)
            if words:
                pointer = render_pointer(["webhookNetworks", index, "networks", place])
                yield Fault(pointer, words, "INVALID")


def _find_network_words(text: str) -> str:
    """What is wrong with a network, and what to do; empty where nothing is."""
    try:
        network = ip_network(text)
    except ValueError:
        return f'"{text}" is no network. Write it as 10.0.0.7, 10.0.0.0/24 or fd00::/64.'
    if is_never_granted(network):
        return (
            f'"{text}" holds addresses that webhooks never reach, such as those of a cloud\'s '
            "metadata. Name a smaller network of your own."
        )
    return ""
