"""The requests and samples in the guides for developers, parsed from the guides' pages."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from string import Template

import httpx

from tests.support.api import Client

FOLDER = Path(__file__).parents[2] / "docs" / "merchant"
GUIDES = sorted(path.stem for path in FOLDER.glob("*.md"))


@dataclass(frozen=True, slots=True)
class GuideCommand:
    """A request that a guide sends with curl, with its variables not yet filled in."""

    method: str
    # The path below the service's address.
    path: str
    headers: dict[str, str]
    body: str | None
    # The names of the form's parts.
    parts: tuple[str, ...]
    # The variables that earlier lines of the guide set.
    variables: dict[str, str]

    async def send(self, client: Client, **names: object) -> httpx.Response:
        """Send the request as `client`, whose token replaces the one in the guide. `names` holds
        values that the guide leaves open."""
        known = {"MERCHANT": client.merchant_id, **names, **self.variables}
        headers = {name: value for name, value in self.headers.items() if name != "Authorization"}
        body = None if self.body is None else fill(self.body, known)
        return await client.send(self.method, fill(self.path, known), content=body, headers=headers)


def fill(text: str, known: Mapping[str, object]) -> str:
    """Return the text with its variables replaced, as the shell would do. Raises KeyError for an
    unknown variable."""
    return Template(text).substitute(known)


def read_blocks(guide: str, language: str) -> list[str]:
    """Return the guide's code blocks in a language, in order."""
    text = (FOLDER / f"{guide}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def read_commands(guide: str) -> list[GuideCommand]:
    """Return every request of the guide in order, except the one for the token."""
    return [each for block in read_blocks(guide, "sh") for each in _read_block(block)]


def _read_block(block: str) -> list[GuideCommand]:
    words = shlex.split(block.replace("\\\n", " "), comments=True)
    starts = [place for place, word in enumerate(words) if word == "curl"]
    if not starts:
        return []
    variables = dict(word.split("=", 1) for word in words[: starts[0]])
    return [
        _read_command(words[start:end], variables) for start, end in pairwise([*starts, len(words)])
    ]


def _read_command(words: list[str], variables: dict[str, str]) -> GuideCommand:
    given: dict[str, list[str]] = {}
    for flag, value in pairwise(words):
        given.setdefault(flag, []).append(value)
    body = given.get("-d", [None])[0]
    parts = tuple(each.partition("=")[0] for each in given.get("-F", []))
    return GuideCommand(
        method=given.get("-X", ["POST" if body or parts else "GET"])[0],
        path=next(word for word in words if word.startswith("$BASE")).removeprefix("$BASE"),
        headers=dict(each.split(": ", 1) for each in given["-H"]),
        body=body,
        parts=parts,
        variables=variables,
    )
