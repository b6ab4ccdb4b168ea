"""What use cases refuse and explain is said in the reader's language: every code of a `Said` has
words of its own, and no English stands in a German page."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dunwell
from dunwell.cases.modalities.answer_modality import approve_modality
from dunwell.interfaces.portal.render.pages import TEMPLATES
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.house import a_house
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.portal_world import PortalWorld, a_portal_world

_ROOT = Path(dunwell.__file__).parent
# The second: what is wrong with a text.
_SAID = [
    folder / name
    for folder in TEMPLATES
    for name in ("_said.html", "_text_words.html")
    if (folder / name).exists()
]
_OF_TEXTS = ("checking.py", "forbidden_words.py", "merchant_rules.py")


def _list_codes() -> Iterator[tuple[str, str]]:
    """Of every `Said` that is written out: file and code."""
    for path in _ROOT.rglob("*.py"):
        source = path.read_text()
        if "Said(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "Said":
                continue
            code = node.args[0]
            if isinstance(code, ast.Constant) and code.value:
                yield path.name, str(code.value)


def test_every_code_of_a_reason_has_words_in_the_portal() -> None:
    known = "".join(path.read_text() for path in _SAID)
    codes = set(_list_codes())

    assert len(codes) > 30
    assert [each for each in codes if f'"{each[1]}"' not in known] == []


def test_every_fault_of_a_text_has_words_in_the_portal() -> None:
    known = _SAID[-1].read_text()
    paths = [_ROOT / "contact" / "messages" / name for name in _OF_TEXTS]
    sources = [
        each.read_text() for each in (*paths, _ROOT / "core" / "workflows" / "text_rules.py")
    ]
    codes = {
        str(node.args[2].value)
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "Fault"
        and isinstance(node.args[2], ast.Constant)
    }

    # Of a template and of the settings, not of a text.
    codes -= {"EMPTY_TEMPLATE", "EMPTY_HOURS"}
    assert len(codes) > 15
    assert [each for each in codes if f'"{each}"' not in known] == []


@pytest.fixture
async def world(resources: Resources, clock: MovableClock) -> PortalWorld:
    return await a_portal_world(await a_house(resources, clock))


@pytest.fixture
async def german(resources: Resources, world: PortalWorld) -> Clerk:
    return await sign_in(resources, an_application(resources).app, world.house, language="de")


async def test_no_english_stands_in_german_explanations(german: Clerk, world: PortalWorld) -> None:
    for claim_id in world.claim_ids[:6]:
        page = await german.get(f"/claims/{claim_id}/why")
        assert page.status_code == 200
        assert 'lang="en"' not in page.text.partition("<main")[2]


async def test_a_plan_answered_by_a_colleague_is_told_in_german(
    german: Clerk, world: PortalWorld
) -> None:
    path = f"/claims/{world.plan_claim_id}/plans/{world.plan_id}"
    form = await german.get(path)
    async with world.house.work() as work:
        await approve_modality(work, world.plan_claim_id, world.plan_id)

    fields = {**read_fields(form.text), "outcome": "reject", "reason": "Zu lang."}
    answer = await german.post(path, fields)

    assert "Die Antwort ist schon gegeben (Vereinbart) und gilt." in answer.text
    assert "Zu lang." in answer.text


async def test_a_number_of_a_payment_taken_twice_is_refused_in_german(
    german: Clerk, world: PortalWorld
) -> None:
    path = f"/claims/{world.claim_ids[6]}/payment"
    await german.submit(path, amount="1,00", number="Bank-77")

    answer = await german.submit(path, amount="2,00", number="Bank-77")

    assert answer.status_code == 409
    assert "schon eine Zahlung mit einem anderen Betrag erfasst" in answer.text
