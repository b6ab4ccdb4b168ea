"""The merchant's logo as a picture of an e-mail, where the e-mail shows it. Pure."""

from base64 import b64encode

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.templates.rendering import LOGO_ID
from dunwell.contact.sending.channel import MessageImage


def find_logo(merchant: Merchant, html: str | None) -> MessageImage | None:
    """None too, where the logo was taken away since it was written: its place says the name."""
    logo = merchant.configuration.brand.logo
    if logo is None or logo.png is None or f'src="cid:{LOGO_ID}"' not in (html or ""):
        return None
    return MessageImage(LOGO_ID, "image/png", logo.png)


def show_logo(html: str, logo: MessageImage | None) -> str:
    """An e-mail's HTML as a page of ours shows it: with the picture itself in its place."""
    if logo is None:
        return html
    encoded = b64encode(logo.content).decode()
    return html.replace(f"cid:{logo.content_id}", f"data:{logo.content_type};base64,{encoded}")
