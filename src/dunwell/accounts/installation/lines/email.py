"""Lines for e-mail. Pure."""

from typing import Annotated, Literal

from msgspec import Meta, field

from dunwell.accounts.installation.lines.line import (
    Credentials,
    Encryption,
    LinePart,
    Pace,
    Prices,
    SecretFile,
    Server,
    Text,
)

Domain = Annotated[
    str,
    Meta(
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}$(?!\n)",
        max_length=190,
        description='a domain in small letters such as "returns.example.com"',
    ),
]


class Mailbox(LinePart, frozen=True):
    """A mailbox that reports and answers are fetched from by IMAP."""

    server: Server
    credentials: Credentials
    encryption: Encryption = "TLS"
    folder: Text = "INBOX"


class Dkim(LinePart, frozen=True):
    """Messages are signed by Dunwell; where the operator's server signs, leave it out."""

    domain: Domain
    selector: Text
    # An RSA private key, PEM.
    key_file: SecretFile


class SmtpLine(LinePart, frozen=True, tag_field="adapter", tag="smtp"):
    channel: Literal["EMAIL"]
    server: Server
    # NONE only to a server on this machine.
    encryption: Encryption = "STARTTLS"
    credentials: Credentials | None = None
    # Reports and answers come back to addresses of this domain, one for each message; none: they
    # go to the sender, and nothing is heard of bounces.
    return_domain: Domain | None = None
    mailbox: Mailbox | None = None
    dkim: Dkim | None = None
    pace: Pace = field(default_factory=Pace)
    prices: Prices = field(default_factory=dict)
