"""The guides: pages made of docs/merchant, and what they say of errors and of the first steps."""

import re
import shlex
from pathlib import Path

import pytest

from dunwell.api.failures import KINDS, kind_of
from dunwell.api.fault_codes import FAULT_CODES
from dunwell.errors import Refusal
from tests.support.api import Api, form_of

FOLDER = Path(__file__).parents[2] / "docs" / "merchant"
ERRORS = " ".join((FOLDER / "errors.md").read_text().split())
POLICY = "default-src 'none'; style-src 'self'"


def test_every_refusal_has_a_kind_of_its_own() -> None:
    assert {kind_of(each).name for each in Refusal.__subclasses__()} == {
        each.__name__ for each in Refusal.__subclasses__()
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.name)
def test_every_error_type_has_its_section_with_cause_and_remedy(kind: object) -> None:
    assert any(
        f"## {each.name} Status {each.status}. **Cause.** {each.cause} **Remedy.** {each.remedy} ##"
        in ERRORS
        for each in KINDS
        if each is kind
    )


def test_every_fault_code_is_in_the_guide_and_no_other() -> None:
    rows = re.findall(r"\| `([A-Z_]+)` \| ([^|]+) \|", ERRORS)
    assert dict(rows) == FAULT_CODES


async def test_every_guide_is_a_page_and_every_link_leads_somewhere(api: Api) -> None:
    get = api.nordwind.http.get
    index = (await get("/docs/guides")).text
    paths = {f"/docs/{each.stem}" for each in FOLDER.glob("*.md")}
    assert len(paths) >= 10
    for path in paths:
        assert f'href="{path}"' in index
        page = await get(path)
        assert page.status_code == 200
        assert page.headers["Content-Security-Policy"].startswith(POLICY)
        assert not re.search(r"<script|<style| style=| on\w+=", page.text)
        for target in set(re.findall(r'href="(/[^"#]*)', page.text)):
            assert (await get(target)).status_code == 200, (path, target)
        anchors = set(re.findall(r'href="#([^"]+)"', page.text))
        assert anchors <= set(re.findall(r'id="([^"]+)"', page.text)), path


async def test_the_commands_of_the_quick_start_do_what_they_say(sandbox: Api) -> None:
    client, merchant_id = sandbox.nordwind, str(sandbox.nordwind.merchant_id)
    text = (FOLDER / "quick-start.md").read_text()
    token, *commands = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    fields = dict(each.split("=", 1) for each in re.findall(r'-d (\w+=[\w"$]+)', token))
    assert fields.keys() == form_of(client.credential).keys()
    assert len(commands) == 4
    for command in commands:
        address, *options = shlex.split(command)[2:]
        path = address.replace("$BASE", "").replace("$MERCHANT", merchant_id)
        body = options[options.index("-d") + 1] if "-d" in options else None
        answer = await client.send(
            "POST" if body else "GET", path,
            content=body, headers={"Content-Type": "application/json"} if body else {},
        )  # fmt: skip
        assert answer.status_code == 200
        assert answer.json()["error"] is None
    assert await sandbox.count("claims") == 1
