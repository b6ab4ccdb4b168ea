"""The token of a communication's link (CONTRACT 10), and its mask in what is stored.

Tokens are derived from the installation's key, so none is kept: the database holds a hash to find
the link by, stored content holds the mask, and the token is put in when the message is handed over.
"""

import base64
import re
from uuid import UUID

from dunwell.platform.crypto import KeyRing, sha256

# Stands for the token wherever content is stored or shown. Characters an address takes as they
# are, so that it passes through Markdown, HTML and addresses unchanged; as long as what it stands
# for, so that the parts of an SMS can be counted with it.
TOKEN_MASK = "__masked__link_token__"  # noqa: S105 - the opposite of a secret
_TOKEN_BYTES = 16
# Of a token as it is written.
TOKEN_LENGTH = 22
_PURPOSE = "debtor-link"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def derive_token(keys: KeyRing, communication_id: UUID, key_version: int | None = None) -> str:
    """The 128-bit token of this communication's link: 22 characters of URL-safe base64.
    `key_version`: of one that was derived before."""
    digest = keys.digest(_PURPOSE, communication_id.bytes, key_version)
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).rstrip(b"=").decode()


def is_token(text: str) -> bool:
    """Whether it could be one, by its characters: they need no care in an address."""
    return _TOKEN.fullmatch(text) is not None


def hash_token(token: str) -> bytes:
    """What the database knows a token by. Any text will do: a wrong one is just not found."""
    return sha256(token.encode())


def unmask(text: str, token: str) -> str:
    """Stored content as it leaves the house."""
    return text.replace(TOKEN_MASK, token)
