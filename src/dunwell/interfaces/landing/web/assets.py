"""The assets of the debtor's pages, and a merchant's colors and logo under its revision.

They need no session, because they reveal only what a company looks like.
"""

import re
from pathlib import Path

from starlette.responses import Response

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.interfaces.landing.render.addresses import build_address
from dunwell.interfaces.landing.render.creditor import choose_palette
from dunwell.interfaces.landing.web.in_session import RoutedPages
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.responses import CSS, AssetFolder, build_asset_response
from dunwell.platform.errors import NotFound

ASSETS = AssetFolder(Path(__file__).parent, lambda name: build_address("asset", name=name))
_ID = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


async def send_brand(site: DebtorSite, request: DebtorRequest) -> Response:
    """Send the merchant's style sheet or logo. Raises NotFound if the merchant has no such
    asset.
    """
    merchant = await _load_merchant(site, request.path_params["merchant_id"])
    is_current = request.path_params["revision"] == str(merchant.revision)
    brand, name = merchant.configuration.brand, request.path_params["name"]
    if name == "brand.css":
        return build_asset_response(render_brand(brand.color), CSS, is_immutable=is_current)
    if name == "logo" and brand.logo is not None:
        logo = brand.logo
        return build_asset_response(logo.content, logo.content_type, is_immutable=is_current)
    raise NotFound("There is no such asset.")


def render_brand(color: str | None) -> bytes:
    """Render the merchant's colors as CSS variables."""
    palette = choose_palette(color)
    return f":root{{--brand:{palette.brand};--brand-deep:{palette.brand_deep}}}\n".encode()


async def _load_merchant(site: DebtorSite, given: str) -> Merchant:
    merchant = None
    if _ID.fullmatch(given):
        async with site.resources.database.connection() as connection:
            merchant = await load_merchant(connection, int(given))
    if merchant is None:
        raise NotFound("There is no such asset.")
    return merchant


PAGES: RoutedPages = {
    "asset": {"GET": ASSETS.send},
    "brand": {"GET": send_brand},
}
