"""The delivery providers of the installation file for e-mail, SMS and letters, and their faults.
Pure."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field, to_builtins

from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer

Text = Annotated[str, Meta(min_length=1, max_length=255)]
# The name that merchant files, return addresses and metrics use.
DeliveryProviderName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9-]{0,39}$(?!\n)",
        description="a short name of lower-case letters, digits and -",
    ),
]
# host:port, or only a host.
Server = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9.\-\[\]:]{1,255}$(?!\n)",
        description='a server such as "mail.example.com:587"',
    ),
]
# A path on the machine that runs `dunwell apply`: absolute, or relative to the installation file.
# The content is stored encrypted in the database; the file is not read again.
SecretFile = Annotated[str, Meta(min_length=1, max_length=1_000)]
# The price of one message (one SMS part, one sheet of a letter) in cents of the merchant's
# currency, by ISO 3166-1 alpha-2 country; "*" is any other country.
Prices = dict[Annotated[str, Meta(pattern=r"^([A-Z]{2}|\*)$(?!\n)")], Annotated[float, Meta(ge=0)]]
Encryption = Literal["TLS", "STARTTLS", "NONE"]


class ProviderPart(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True
):
    """A part of a delivery provider's settings."""


class ProviderPace(ProviderPart, frozen=True):
    """The rate limit of a delivery provider. `at_once` is the largest number of messages in flight.
    When a worker dies, up to this number may have been sent without a record of it."""

    per_second: Annotated[float, Meta(gt=0, le=10_000)] | None = None
    at_once: Annotated[int, Meta(ge=1, le=200)] = 50


class Credentials(ProviderPart, frozen=True):
    user: Text
    password_file: SecretFile


Domain = Annotated[
    str,
    Meta(
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}$(?!\n)",
        max_length=190,
        description='a domain in lower case such as "returns.example.com"',
    ),
]


class ReturnMailbox(ProviderPart, frozen=True):
    """A mailbox from which bounces and replies are fetched by IMAP."""

    server: Server
    credentials: Credentials
    encryption: Encryption = "TLS"
    folder: Text = "INBOX"


class Dkim(ProviderPart, frozen=True):
    """The DKIM key with which Dunwell signs messages."""

    domain: Domain
    selector: Text
    # An RSA private key in PEM.
    key_file: SecretFile


class SmtpProvider(ProviderPart, frozen=True, tag_field="adapter", tag="smtp"):
    channel: Literal["EMAIL"]
    server: Server
    # NONE is allowed only for a server on the same machine.
    encryption: Encryption = "STARTTLS"
    credentials: Credentials | None = None
    # Each message gets a return address in this domain, for bounces and replies. Without the
    # domain, they go to the sender's address, and bounces are not noticed.
    return_domain: Domain | None = None
    mailbox: ReturnMailbox | None = None
    dkim: Dkim | None = None
    pace: ProviderPace = field(default_factory=ProviderPace)
    prices: Prices = field(default_factory=dict)


Path = Annotated[str, Meta(min_length=1, max_length=1_000)]


class BatchSettings(ProviderPart, frozen=True):
    """How letters are collected in batches, which a manifest releases to the print service."""

    every_minutes: Annotated[int, Meta(ge=1, le=1_440)] = 60
    most: Annotated[int, Meta(ge=1, le=10_000)] = 1_000


# Separate files next to the letter, or appended to its PDF.
Enclosures = Literal["BESIDE", "APPENDED"]
# The format of the print service's status files: a module of `contact/sending/batches/formats`.
StatusFormatName = Literal["dunwell"]
LayoutName = Literal["din-5008-a", "din-5008-b", "c5-6", "print-service"]


class FolderProvider(ProviderPart, frozen=True, tag_field="adapter", tag="folder"):
    channel: Literal["LETTER"]
    # The folder is on the machine of the workers.
    folder: Path
    batch: BatchSettings = field(default_factory=BatchSettings)
    # The layout of the sheet: a module of `contact/messages/letters/layouts`.
    layout: LayoutName = "din-5008-b"
    # The page limit of one letter with its enclosures. Longer letters use the next channel.
    most_pages: Annotated[int, Meta(ge=1, le=100)] = 20
    enclosures: Enclosures = "APPENDED"
    status_format: StatusFormatName = "dunwell"
    pace: ProviderPace = field(default_factory=ProviderPace)
    prices: Prices = field(default_factory=dict)


class SftpProvider(ProviderPart, frozen=True, tag_field="adapter", tag="sftp"):
    channel: Literal["LETTER"]
    server: Server
    # The server's host key as in known_hosts: "ssh-ed25519 AAAA...". Connections to another key are
    # refused.
    host_key: Annotated[str, Meta(min_length=20, max_length=2_000)]
    user: Text
    # Exactly one of the two is required.
    key_file: SecretFile | None = None
    password_file: SecretFile | None = None
    # The folder is on the server.
    folder: Path = "."
    batch: BatchSettings = field(default_factory=BatchSettings)
    layout: LayoutName = "din-5008-b"
    most_pages: Annotated[int, Meta(ge=1, le=100)] = 20
    enclosures: Enclosures = "APPENDED"
    status_format: StatusFormatName = "dunwell"
    pace: ProviderPace = field(default_factory=ProviderPace)
    prices: Prices = field(default_factory=dict)


def describe_letter_location(provider: FolderProvider | SftpProvider) -> dict[str, str]:
    """Return where the provider stores its letters, in the words of the installation file."""
    if isinstance(provider, FolderProvider):
        return {"adapter": "folder", "folder": provider.folder}
    server, user, folder = provider.server, provider.user, provider.folder
    return {"adapter": "sftp", "server": server, "user": user, "folder": folder}


BaseUrl = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s?#/@]{1,253}(/[^\s?#]{0,140})?$(?!\n)",
        description='an address such as "https://sms.example.com"',
    ),
]
Network = Annotated[str, Meta(min_length=1, max_length=50)]
# The only networks to which connections are made, for a gateway in the operator's own network. If
# there are none, every public address is allowed and no private one.
Networks = tuple[Network, ...]
# The text of the SMS that confirms a STOP, once to each sender. Without the text, no SMS is sent in
# response.
Confirmation = Annotated[str, Meta(min_length=1, max_length=160)]


class KannelProvider(ProviderPart, frozen=True, tag_field="adapter", tag="kannel"):
    """A Kannel gateway (sendsms)."""

    channel: Literal["SMS"]
    # The address of the smsbox without a path: http://127.0.0.1:13013.
    server: BaseUrl
    credentials: Credentials
    networks: Networks = ()
    # The gateway's connection to use. Without it the gateway routes by itself.
    smsc: Text | None = None
    # The secret that the gateway sends with incoming messages. Without it none are accepted.
    incoming_secret_file: SecretFile | None = None
    stop_confirmation: Confirmation | None = None
    pace: ProviderPace = field(default_factory=ProviderPace)
    prices: Prices = field(default_factory=dict)


class TwilioProvider(ProviderPart, frozen=True, tag_field="adapter", tag="twilio"):
    """Twilio, or a provider with a compatible API. The user is the account SID, the password the
    auth token."""

    channel: Literal["SMS"]
    credentials: Credentials
    server: BaseUrl = "https://api.twilio.com"
    networks: Networks = ()
    stop_confirmation: Confirmation | None = None
    pace: ProviderPace = field(default_factory=ProviderPace)
    prices: Prices = field(default_factory=dict)


def find_gateway_faults(name: str, provider: KannelProvider | TwilioProvider) -> Iterator[Fault]:
    """Yield the faults of an SMS gateway, with pointers into the file."""
    path = ["deliveryProviders", name]
    yield from find_network_faults(path, provider.networks)
    if provider.server.startswith("http://") and not provider.networks:
        message = (
            "Only a gateway in your own network may be used without encryption: name its address "
            'in "networks", or use https.'
        )
        yield Fault(render_pointer([*path, "server"]), message, "INVALID")


def find_network_faults(path: Sequence[str], networks: Networks) -> Iterator[Fault]:
    """Yield the faults of the "networks" of the provider at this path."""
    for index, network in enumerate(networks):
        try:
            is_unusable = ip_network(network).prefixlen == 0
        except ValueError:
            is_unusable = True
        if is_unusable:
            message = (
                f'"{network}" is not one of your networks. Write it as 127.0.0.1 or 10.0.0.0/24.'
            )
            yield Fault(render_pointer([*path, "networks", index]), message, "INVALID")


DeliveryProvider = SmtpProvider | KannelProvider | TwilioProvider | FolderProvider | SftpProvider
_LOOPBACK = ("127.", "localhost", "[::1]", "::1")


def list_provider_secret_files(
    providers: Mapping[str, ProviderPart], key: str = "deliveryProviders"
) -> dict[str, str]:
    """Return the path of each secret file, by the name under which its secret is stored, such as
    "deliveryProviders/post/credentials/passwordFile". `key` is the key of the providers in the
    installation file."""
    found: dict[str, str] = {}
    _collect_secret_files(to_builtins(dict(providers)), key, found)
    return found


def _collect_secret_files(value: Any, path: str, found: dict[str, str]) -> None:
    """Add the values of all keys that end in "File", with their paths."""
    for name, part in value.items() if isinstance(value, dict) else ():
        if name.endswith("File") and isinstance(part, str):
            found[f"{path}/{name}"] = part
        _collect_secret_files(part, f"{path}/{name}", found)


def find_delivery_provider_faults(providers: Mapping[str, DeliveryProvider]) -> Iterator[Fault]:
    """Yield the faults other than wrong keys and types, with pointers into the file."""
    for name, provider in providers.items():
        if isinstance(provider, SmtpProvider):
            yield from _find_smtp_faults(name, provider)
        if isinstance(provider, KannelProvider | TwilioProvider):
            yield from find_gateway_faults(name, provider)
        if isinstance(provider, SftpProvider) and (provider.key_file is None) == (
            provider.password_file is None
        ):
            message = 'Give "keyFile" or "passwordFile", and not both.'
            yield Fault(render_pointer(["deliveryProviders", name, "keyFile"]), message, "REQUIRED")


def _find_smtp_faults(name: str, provider: SmtpProvider) -> Iterator[Fault]:
    if provider.encryption == "NONE" and not provider.server.startswith(_LOOPBACK):
        message = (
            "Only a server on this machine may be used without encryption; use STARTTLS or TLS."
        )
        yield Fault(render_pointer(["deliveryProviders", name, "encryption"]), message, "INVALID")
    if provider.mailbox is not None and provider.return_domain is None:
        message = 'A mailbox needs a "returnDomain", so that bounces and replies reach it.'
        yield Fault(
            render_pointer(["deliveryProviders", name, "returnDomain"]), message, "REQUIRED"
        )
