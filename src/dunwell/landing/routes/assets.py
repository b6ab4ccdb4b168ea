"""Stylesheets and logos: the face's own, and a merchant's brand under its revision.

Nobody need be in a session to load them; they say how a company looks and nothing else.
"""

import re
from functools import lru_cache
from pathlib import Path

from dunwell.errors import NotFound
from dunwell.kit.crypto import sha256
from dunwell.landing.answer import Answer, answer_asset
from dunwell.landing.colors import choose_palette
from dunwell.landing.desk import Desk
from dunwell.landing.visit import Visit
from dunwell.merchants.account import Merchant
from dunwell.merchants.store import load_merchant

_STYLESHEET = Path(__file__).parents[1] / "landing.css"
_CSS = "text/css; charset=utf-8"
_ID = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


@lru_cache(maxsize=1)
def load_stylesheet() -> bytes:
    return _STYLESHEET.read_bytes()


def name_stylesheet() -> str:
    """Its address, which changes with its content."""
    return f"/claim/style/{sha256(load_stylesheet()).hex()[:12]}.css"


async def send_stylesheet(_desk: Desk, visit: Visit) -> Answer:
    """An older page may ask by an older name."""
    is_current = name_stylesheet().endswith(f"/{visit.parameters['name']}")
    return answer_asset(load_stylesheet(), _CSS, is_named_by_content=is_current)


async def send_brand(desk: Desk, visit: Visit) -> Answer:
    """Raises NotFound where the merchant has none."""
    merchant = await _load_merchant(desk, visit.parameters["merchant_id"])
    is_current = visit.parameters["revision"] == str(merchant.revision)
    brand, name = merchant.configuration.brand, visit.parameters["name"]
    if name == "brand.css":
        return answer_asset(render_brand(brand.color), _CSS, is_named_by_content=is_current)
    if name == "logo" and brand.logo is not None:
        logo = brand.logo
        return answer_asset(logo.content, logo.content_type, is_named_by_content=is_current)
    raise NotFound("There is no such picture.")


def render_brand(color: str | None) -> bytes:
    """The merchant's colours; nothing where the neutral ones stand."""
    palette = choose_palette(color)
    return f":root{{--brand:{palette.brand};--brand-deep:{palette.brand_deep}}}\n".encode()


async def _load_merchant(desk: Desk, given: str) -> Merchant:
    merchant = None
    if _ID.fullmatch(given):
        async with desk.resources.database.connection() as connection:
            merchant = await load_merchant(connection, int(given))
    if merchant is None:
        raise NotFound("There is no such picture.")
    return merchant
