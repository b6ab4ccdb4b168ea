"""The guides are pages generated from docs/merchant. Their lists of errors are complete, and the
quick start works."""

import json
import re

import pytest

from dunwell.interfaces.api.catalogue import OPERATIONS
from dunwell.interfaces.api.failures import FAULT_CODES, KINDS, get_failure_kind
from dunwell.platform.errors import Refusal
from tests.support.api import Api, form_of
from tests.support.guides import FOLDER, GUIDES, read_blocks, read_commands

ERRORS = " ".join((FOLDER / "errors.md").read_text().split())
POLICY = "default-src 'none'; style-src 'self'"


def test_every_refusal_has_its_own_error_type() -> None:
    assert {get_failure_kind(each).name for each in Refusal.__subclasses__()} == {
        each.__name__ for each in Refusal.__subclasses__()
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.name)
def test_every_error_type_has_a_section_with_cause_and_remedy(kind: object) -> None:
    assert any(
        f"## {each.name} Status {each.status}. **Cause.** {each.cause} **Remedy.** {each.remedy} ##"
        in ERRORS
        for each in KINDS
        if each is kind
    )


def test_the_guide_has_sections_of_existing_error_types_only() -> None:
    sections = re.findall(r"## (\w+) Status \d+\.", ERRORS)
    assert sorted(sections) == sorted(each.name for each in KINDS)


def test_the_guide_lists_exactly_the_existing_fault_codes() -> None:
    rows = re.findall(r"\| `([A-Z_]+)` \| ([^|]+) \|", ERRORS)
    assert dict(rows) == FAULT_CODES


def test_every_operation_is_named_in_a_guide() -> None:
    text = "".join((FOLDER / f"{guide}.md").read_text() for guide in GUIDES)
    for operation in OPERATIONS:
        words = [each for each in operation.path.split("/") if each and "{" not in each]
        assert re.search(rf"/{words[-1]}\b", text), operation.path


@pytest.mark.parametrize("guide", GUIDES)
def test_every_guide_links_to_others_and_is_linked_to(guide: str) -> None:
    led_to = {other: read_links(other) - {other} for other in GUIDES}
    assert len(led_to[guide]) >= 2
    assert any(guide in names for other, names in led_to.items() if other != guide)


def read_links(guide: str) -> set[str]:
    return set(re.findall(r"\]\(([\w-]+)\.md", (FOLDER / f"{guide}.md").read_text()))


async def test_every_guide_is_a_page_whose_links_work(api: Api) -> None:
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


async def test_the_quick_start_requests_a_token_with_valid_fields(sandbox: Api) -> None:
    [text] = [each for each in read_blocks("quick-start", "sh") if each.startswith("TOKEN=")]
    fields = dict(each.split("=", 1) for each in re.findall(r'-d (\w+=[\w"$]+)', text))
    assert fields.keys() == form_of(sandbox.nordwind.credential).keys()
    assert fields["grant_type"] == "client_credentials"


async def test_the_commands_of_the_quick_start_have_the_described_results(sandbox: Api) -> None:
    *commands, mistaken = read_commands("quick-start")
    assert len(commands) == 5
    for command in commands:
        answer = await command.send(sandbox.nordwind)
        assert answer.status_code == 200
        assert answer.json()["error"] is None
    [result] = (await mistaken.send(sandbox.nordwind)).json()["result"]
    [sample] = read_blocks("quick-start", "json")
    assert result["error"]["details"]["errors"] == [json.loads(sample)]
    assert await sandbox.count("claims") == 1


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_does_not_name_files_that_merchants_cannot_open(guide: str) -> None:
    """Links lead to pages. Other file names belong to the operator's documentation."""
    text = (FOLDER / f"{guide}.md").read_text()
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    without_links = re.sub(r"\]\([^)]*\)", "]", prose)
    named = re.findall(r"[\w./-]+\.(?:md|yaml|py|toml)\b", without_links)
    assert named == []
    assert not re.search(r"\b(docs|examples|src)/|merchant file", without_links)
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", prose)
    known = {f"{each}.md" for each in GUIDES}
    assert [each for each in targets if each not in known and ":" not in each] in (
        [], ["../openapi.json"],
    )  # fmt: skip
