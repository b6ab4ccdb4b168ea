"""Stylesheets, scripts and logos: the pages' own, and a merchant's brand under its revision.

Nobody need be in a session to load them; they say how a company looks and nothing else.
"""

import gzip
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from starlette.responses import Response

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.interfaces.landing.render.addresses import build_address
from dunwell.interfaces.landing.render.colors import choose_palette
from dunwell.interfaces.landing.web.answer import answer_asset
from dunwell.interfaces.landing.web.in_session import RoutedPages
from dunwell.interfaces.landing.web.site import Site
from dunwell.interfaces.landing.web.visit import Visit
from dunwell.platform.crypto import sha256
from dunwell.platform.errors import NotFound

_STYLESHEET = Path(__file__).parent / "landing.css"
_ICON = Path(__file__).parent / "icon.svg"
_CSS = "text/css; charset=utf-8"
_SCRIPTS = Path(__file__).parent / "scripts"
_JAVASCRIPT = "text/javascript; charset=utf-8"
_ID = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


@lru_cache(maxsize=1)
def load_stylesheet() -> bytes:
    return _STYLESHEET.read_bytes()


def name_stylesheet() -> str:
    """Its address, which changes with its content."""
    return build_address("style", name=f"{sha256(load_stylesheet()).hex()[:12]}.css")


async def send_stylesheet(_site: Site, visit: Visit) -> Response:
    """An older page may ask by an older name."""
    is_current = name_stylesheet().endswith(f"/{visit.path_params['name']}")
    return _answer_text(visit, load_stylesheet(), _CSS, is_current=is_current)


@lru_cache(maxsize=1)
def load_icon() -> bytes:
    return _ICON.read_bytes()


def name_icon() -> str:
    """Its address, which changes with its content."""
    return build_address("icon", name=f"{sha256(load_icon()).hex()[:12]}.svg")


async def send_icon(_site: Site, visit: Visit) -> Response:
    """What a browser shows beside the page's title."""
    is_current = name_icon().endswith(f"/{visit.path_params['name']}")
    return answer_asset(load_icon(), "image/svg+xml", is_named_by_content=is_current)


@lru_cache(maxsize=1)
def load_scripts() -> Mapping[str, bytes]:
    """By name, those a page may bring; every page works without."""
    return {path.stem: path.read_bytes() for path in sorted(_SCRIPTS.glob("*.js"))}


def name_scripts() -> Mapping[str, str]:
    """Their addresses by name, which change with their content."""
    return {
        name: build_address("script", name=f"{name}-{sha256(content).hex()[:12]}.js")
        for name, content in load_scripts().items()
    }


async def send_script(_site: Site, visit: Visit) -> Response:
    """An older page may ask by an older name. Raises NotFound."""
    given = visit.path_params["name"]
    name = given.partition("-")[0]
    content = load_scripts().get(name)
    if content is None:
        raise NotFound("There is no such script.")
    is_current = name_scripts()[name].endswith(f"/{given}")
    return _answer_text(visit, content, _JAVASCRIPT, is_current=is_current)


async def send_brand(site: Site, visit: Visit) -> Response:
    """Raises NotFound where the merchant has none."""
    merchant = await _load_merchant(site, visit.path_params["merchant_id"])
    is_current = visit.path_params["revision"] == str(merchant.revision)
    brand, name = merchant.configuration.brand, visit.path_params["name"]
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


def _answer_text(visit: Visit, content: bytes, content_type: str, *, is_current: bool) -> Response:
    """Compressed where the browser takes it so: it holds no secret that its length could tell."""
    more = {"Vary": "Accept-Encoding"}
    if visit.takes_gzip:
        content, more = _compress(content), {**more, "Content-Encoding": "gzip"}
    return answer_asset(content, content_type, is_named_by_content=is_current, more=more)


@lru_cache(maxsize=16)
def _compress(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


async def _load_merchant(site: Site, given: str) -> Merchant:
    merchant = None
    if _ID.fullmatch(given):
        async with site.resources.database.connection() as connection:
            merchant = await load_merchant(connection, int(given))
    if merchant is None:
        raise NotFound("There is no such picture.")
    return merchant


PAGES: RoutedPages = {
    "style": {"GET": send_stylesheet},
    "icon": {"GET": send_icon},
    "script": {"GET": send_script},
    "brand": {"GET": send_brand},
}
