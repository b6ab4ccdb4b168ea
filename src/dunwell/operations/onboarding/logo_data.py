"""An image that a merchant file holds in itself, as a "data:" address (RFC 2397). Pure."""

import base64

from dunwell.accounts.merchants.configuration import Logo
from dunwell.operations.onboarding.vector_image import ImageRefused

DATA = "data:"
_ENCODED = ";base64"


def write_data(logo: Logo) -> str:
    text = base64.b64encode(logo.content).decode()
    return f"{DATA}{logo.content_type}{_ENCODED},{text}"


def read_data(address: str) -> bytes:
    """What it holds; of which type that is, the image itself says. Raises ImageRefused."""
    head, _, text = address.partition(",")
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError:
        content = b""
    if not (head.endswith(_ENCODED) and content):
        raise ImageRefused('Write it as "data:image/png;base64," and its base64.')
    return content
