"""Stylesheets, icons and scripts of one interface, under addresses that change with their content.

They can be loaded without a session: they say nothing about claims or users.
"""

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from dunwell.interfaces.web.responses import answer_asset
from dunwell.platform.crypto import sha256
from dunwell.platform.errors import NotFound
from dunwell.platform.http.requests import accepts_gzip

CSS = "text/css; charset=utf-8"
_TYPES = {".css": CSS, ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class AssetFolder:
    """The assets in one folder, and the scripts in its subfolder `scripts`."""

    def __init__(self, folder: Path, build_address: Callable[[str], str]) -> None:
        """build_address: makes the address of an asset from its file name."""
        paths = [*folder.glob("*.css"), *folder.glob("*.svg"), *folder.glob("scripts/*.js")]
        self.contents: Mapping[str, tuple[str, bytes]] = {
            path.stem: (path.suffix, path.read_bytes()) for path in sorted(paths)
        }
        # By name.
        self.addresses: Mapping[str, str] = {
            name: build_address(f"{name}-{sha256(content).hex()[:12]}{suffix}")
            for name, (suffix, content) in self.contents.items()
        }

    async def send(self, _site: object, request: Request) -> Response:
        """Send one asset; its current content also under an older address. Raises NotFound.

        Compressing it is safe, because it holds no secret that its length could tell.
        """
        file_name = request.path_params["name"]
        name = file_name.partition("-")[0]
        if name not in self.contents:
            raise NotFound("There is no such file.")
        suffix, content = self.contents[name]
        is_current = self.addresses[name].endswith(f"/{file_name}")
        more = {"Vary": "Accept-Encoding"}
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            content, more = _compress(content), {**more, "Content-Encoding": "gzip"}
        return answer_asset(content, _TYPES[suffix], is_named_by_content=is_current, more=more)


@cache
def _compress(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
