"""Invalid input: files that are not valid documents, and impossible addresses."""

from typing import Any

import pytest
import yaml

from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields

_HOSTILE = (
    "a: " + "9" * 5000,
    "a: !!timestamp 2024-13-45",
    "rules: !!set {b}",
    'name: "\\0"',
    'name: "\\uD800"',
    "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(
        f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
        for before, name in zip("abcdefghijk", "bcdefghijkl", strict=True)
    ),
)


@pytest.fixture
async def clerk(clerk: Clerk, harness: Harness, claim_id: int) -> Clerk:
    return clerk


async def _list_file_forms(harness: Harness) -> list[tuple[str, str, str]]:
    """Return the path of each form, the path to which it is submitted, and its action."""
    [row] = await harness.rows("SELECT workflow_id FROM workflows WHERE merchant_id = $1 LIMIT 1")
    process = f"/workflows/{row['workflow_id']}/file"
    return [
        ("/settings/file", "/settings/changes", "look"),
        ("/rules/file", "/rules/file", "check"),
        (process, process, "look"),
    ]


@pytest.mark.parametrize("text", _HOSTILE, ids=range(len(_HOSTILE)))
async def test_an_invalid_file_is_reported_on_the_page(
    clerk: Clerk, harness: Harness, text: str
) -> None:
    for shown, to, do in await _list_file_forms(harness):
        form = read_fields((await clerk.get(shown)).text)
        answer = await clerk.post(to, {**form, "text": text, "do": do})
        assert answer.status_code == 422, to


async def test_the_web_process_parses_no_uploaded_file_itself(
    clerk: Clerk, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed_here = list[str]()

    def watch(parse: Any) -> Any:
        def watched(*arguments: Any, **named: Any) -> Any:
            parsed_here.append(parse.__name__)
            return parse(*arguments, **named)

        return watched

    for shown, to, do in await _list_file_forms(harness):
        form = read_fields((await clerk.get(shown)).text)
        with monkeypatch.context() as patched:
            for name in ("load", "compose", "parse"):
                patched.setattr(yaml, name, watch(getattr(yaml, name)))
            answer = await clerk.post(to, {**form, "text": "nothing: here", "do": do})
        assert answer.status_code == 422, to
        assert parsed_here == [], to


@pytest.mark.parametrize(
    "path", ["/portal/delivery-providers/x%00y/doubtful-letters", "/credentials/x%00y"]
)
async def test_an_address_with_a_nul_character_is_not_found(clerk: Clerk, path: str) -> None:
    assert (await clerk.get(path)).status_code == 404
