"""What the guides for merchants' developers show, read from their pages: requests and samples."""

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
class Command:
    """A request as a page gives it to curl, its variables still by name."""

    method: str
    # Below the service's address.
    path: str
    headers: dict[str, str]
    body: str | None
    # The names of a form's parts.
    parts: tuple[str, ...]
    # What the lines of the page before it set.
    variables: dict[str, str]

    async def send(self, client: Client, **names: object) -> httpx.Response:
        """As `client`, whose token stands in for the page's. names: what the page leaves open."""
        known = {"MERCHANT": client.merchant_id, **names, **self.variables}
        headers = {name: value for name, value in self.headers.items() if name != "Authorization"}
        body = None if self.body is None else fill(self.body, known)
        return await client.send(self.method, fill(self.path, known), content=body, headers=headers)


def fill(text: str, known: Mapping[str, object]) -> str:
    """The text with its variables' values, as the shell would; KeyError for one without."""
    return Template(text).substitute(known)


def read_blocks(guide: str, language: str) -> list[str]:
    """The page's blocks of code in a language, in order."""
    text = (FOLDER / f"{guide}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def read_commands(guide: str) -> list[Command]:
    """Every request of the page, in order; what asks for the token is none of them."""
    return [each for block in read_blocks(guide, "sh") for each in _read_block(block)]


def _read_block(block: str) -> list[Command]:
    words = shlex.split(block.replace("\\\n", " "), comments=True)
    starts = [place for place, word in enumerate(words) if word == "curl"]
    if not starts:
        return []
    variables = dict(word.split("=", 1) for word in words[: starts[0]])
    return [
        _read_command(words[start:end], variables) for start, end in pairwise([*starts, len(words)])
    ]


def _read_command(words: list[str], variables: dict[str, str]) -> Command:
    given: dict[str, list[str]] = {}
    for flag, value in pairwise(words):
        given.setdefault(flag, []).append(value)
    body = given.get("-d", [None])[0]
    parts = tuple(each.partition("=")[0] for each in given.get("-F", []))
    return Command(
        method=given.get("-X", ["POST" if body or parts else "GET"])[0],
        path=next(word for word in words if word.startswith("$BASE")).removeprefix("$BASE"),
        headers=dict(each.split(": ", 1) for each in given["-H"]),
        body=body,
        parts=parts,
        variables=variables,
    )
