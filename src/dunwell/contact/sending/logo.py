"""The merchant's logo as an image of an e-mail. Pure."""

from base64 import b64encode

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.templates.rendering import LOGO_ID
from dunwell.contact.sending.channel import MessageImage


def find_logo(merchant: Merchant, html: str | None) -> MessageImage | None:
    """Return the logo if the e-mail shows one and it still exists; otherwise the e-mail shows the
    merchant's name."""
    logo = merchant.configuration.brand.logo
    if logo is None or logo.png is None or f'src="cid:{LOGO_ID}"' not in (html or ""):
        return None
    return MessageImage(LOGO_ID, "image/png", logo.png)


def embed_logo(html: str, logo: MessageImage | None) -> str:
    """Return the HTML of an e-mail with the image itself in place of its content id, for display on
    our pages."""
    if logo is None:
        return html
    encoded = b64encode(logo.content).decode()
    return html.replace(f"cid:{logo.content_id}", f"data:{logo.content_type};base64,{encoded}")
