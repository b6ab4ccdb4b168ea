"""Follows every link and every form's address of the pages, as a careless robot would: by GET."""

import re
from collections.abc import Iterable, Mapping
from html import unescape

import httpx

from tests.support.landing import Browser
from tests.support.one_claim import ROUTES

Seen = Mapping[str, httpx.Response]
_LINK = re.compile(r'(?:href|action|src)="(/[^"#]*)')
# The only link that leaves the debtors' pages; it is for developers.
_AWAY = "/docs"
_PARAMETER = re.compile(r"\{\w+\}")
_MAX_RESPONSES = 500


async def crawl(visitor: Browser, starts: Iterable[str], language: str | None = None) -> Seen:
    """Return the response of every address that is reachable from `starts`. `language` is selected
    on each start page, and the links of the pages keep it; without it, no language is selected."""
    seen: dict[str, httpx.Response] = {}
    coming = [_choose(start, language) for start in starts]
    while coming:
        path = coming.pop()
        if path in seen:
            continue
        answer = seen[path] = await visitor.http.get(path)
        assert len(seen) < _MAX_RESPONSES, "the addresses do not end"
        if answer.status_code == 303:
            coming.append(answer.headers["Location"])
        elif is_page(answer):
            coming += [unescape(each) for each in _LINK.findall(answer.text) if each != _AWAY]
    return seen


def is_page(answer: httpx.Response) -> bool:
    content_type: str = answer.headers.get("Content-Type", "")
    return content_type.startswith("text/html")


def find_address(path: str) -> str:
    """Return the address of the interface that answers this path: the matching one with the fewest
    parameters."""
    plain = path.partition("?")[0]
    fitting = [
        address for address in ROUTES if re.fullmatch(_PARAMETER.sub("[^/]+", address), plain)
    ]
    return min(fitting, key=lambda address: address.count("{"))


def _choose(path: str, language: str | None) -> str:
    if language is None:
        return path
    return f"{path}{'&' if '?' in path else '?'}lang={language}"
