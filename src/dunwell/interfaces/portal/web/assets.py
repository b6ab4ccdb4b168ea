"""The portal's stylesheet, scripts and icon, under addresses that change with their content.

Nobody need be signed in to load them; they say how the portal looks and nothing else.
"""

import gzip
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from starlette.responses import Response

from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.web.answer import answer_asset
from dunwell.interfaces.portal.web.guards import RoutedPages
from dunwell.interfaces.portal.web.site import Site
from dunwell.interfaces.portal.web.visit import Visit
from dunwell.platform.crypto import sha256
from dunwell.platform.errors import NotFound

_HERE = Path(__file__).parent
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def load_assets() -> Mapping[str, tuple[str, bytes]]:
    """By the name that stands first in its address: its kind and its bytes."""
    paths = [_HERE / "portal.css", _HERE / "icon.svg", *sorted((_HERE / "scripts").glob("*.js"))]
    return {path.stem: (path.suffix, path.read_bytes()) for path in paths}


@cache
def name_assets() -> Mapping[str, str]:
    """Their addresses by name."""
    return {
        name: build_address("asset", name=f"{name}-{sha256(content).hex()[:12]}{suffix}")
        for name, (suffix, content) in load_assets().items()
    }


async def send_asset(_site: Site, visit: Visit) -> Response:
    """An older page may ask by an older name. Raises NotFound."""
    given = visit.path_params["name"]
    name = given.partition("-")[0]
    if name not in load_assets():
        raise NotFound("There is no such file.")
    suffix, content = load_assets()[name]
    more = {"Vary": "Accept-Encoding"}
    if visit.takes_gzip:
        content, more = _compress(content), {**more, "Content-Encoding": "gzip"}
    is_current = name_assets()[name].endswith(f"/{given}")
    return answer_asset(content, _TYPES[suffix], is_named_by_content=is_current, more=more)


@cache
def _compress(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


PAGES: RoutedPages = {"asset": {"GET": send_asset}}
