"""DKIM signatures (RFC 6376) by the extra `dunwell[dkim]`, for those whose mail server signs
nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from dunwell.accounts.installation.delivery_providers import SmtpLine
from dunwell.contact.sending.channel import LineUnusable

# What a reader sees of a message, and what programs act upon.
_SIGNED = (
    b"from", b"reply-to", b"to", b"subject", b"date", b"message-id", b"mime-version",
    b"content-type", b"list-unsubscribe", b"list-unsubscribe-post", b"auto-submitted",
)  # fmt: skip
_MISSING = 'DKIM needs the extra: install "dunwell[dkim]", or leave "dkim" out.'
_NO_KEY = "Its DKIM key is none: give an RSA private key, PEM."


class Signer(Protocol):
    def sign(self, content: bytes) -> bytes:
        """The message with its signature before it. Takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class _Dkim:
    domain: bytes
    selector: bytes
    key: bytes

    def sign(self, content: bytes) -> bytes:
        import dkim  # noqa: PLC0415 - an extra

        signature: bytes = dkim.sign(
            content, self.selector, self.domain, self.key,
            canonicalize=(b"relaxed", b"relaxed"), include_headers=list(_SIGNED),
        )  # fmt: skip
        return signature + content


def open_signer(name: str, line: SmtpLine, secrets: Mapping[str, bytes]) -> Signer | None:
    """None: the line signs nothing. Raises LineUnusable."""
    if line.dkim is None:
        return None
    try:
        from dkim.crypto import (  # noqa: PLC0415 - an extra
            UnparsableKeyError,
            parse_pem_private_key,
        )
    except ImportError as error:
        raise LineUnusable(_MISSING) from error
    key = secrets.get(f"deliveryProviders/{name}/dkim/keyFile", b"")
    try:
        parse_pem_private_key(key)
    except UnparsableKeyError as error:
        raise LineUnusable(_NO_KEY) from error
    return _Dkim(line.dkim.domain.encode(), line.dkim.selector.encode(), key)
