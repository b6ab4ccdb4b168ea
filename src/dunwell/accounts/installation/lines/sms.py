"""Lines for SMS, and what is wrong with some beyond their shapes. Pure."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Annotated, Literal

from msgspec import Meta, field

from dunwell.accounts.installation.lines.line import (
    Credentials,
    LinePart,
    Pace,
    Prices,
    SecretFile,
    Text,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer

BaseUrl = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s?#/@]{1,253}(/[^\s?#]{0,140})?$(?!\n)",
        description='an address such as "https://sms.example.com"',
    ),
]
Network = Annotated[str, Meta(min_length=1, max_length=50)]
# The only ones that are connected to, for a gateway in a network of the operator's own; none: any
# public address, and no private one.
Networks = tuple[Network, ...]
# What confirms a STOP, once, to who sent it; none: nothing is answered.
Confirmation = Annotated[str, Meta(min_length=1, max_length=160)]


class KannelLine(LinePart, frozen=True, tag_field="adapter", tag="kannel"):
    """A Kannel gateway's sendsms."""

    channel: Literal["SMS"]
    # Of the smsbox, without path: http://127.0.0.1:13013.
    server: BaseUrl
    credentials: Credentials
    networks: Networks = ()
    # Which of the gateway's connections is taken; none: as it routes itself.
    smsc: Text | None = None
    # What the gateway says with an incoming message; none: none are taken.
    incoming_secret_file: SecretFile | None = None
    stop_confirmation: Confirmation | None = None
    pace: Pace = field(default_factory=Pace)
    prices: Prices = field(default_factory=dict)


class TwilioLine(LinePart, frozen=True, tag_field="adapter", tag="twilio"):
    """Twilio, or a provider that speaks its dialect. The user is the account's SID, the password
    its auth token."""

    channel: Literal["SMS"]
    credentials: Credentials
    server: BaseUrl = "https://api.twilio.com"
    networks: Networks = ()
    stop_confirmation: Confirmation | None = None
    pace: Pace = field(default_factory=Pace)
    prices: Prices = field(default_factory=dict)


def find_gateway_faults(name: str, line: KannelLine | TwilioLine) -> Iterator[Fault]:
    """With pointers into the file."""
    for index, network in enumerate(line.networks):
        try:
            is_everybody = ip_network(network).prefixlen == 0
        except ValueError:
            is_everybody = True
        if is_everybody:
            words = f'"{network}" is no network of yours. Write it as 127.0.0.1 or 10.0.0.0/24.'
            yield Fault(render_pointer(["lines", name, "networks", index]), words, "INVALID")
    if line.server.startswith("http://") and not line.networks:
        words = (
            "Only a gateway in a network of yours is spoken to in clear: name its address in "
            '"networks", or use https.'
        )
        yield Fault(render_pointer(["lines", name, "server"]), words, "INVALID")
