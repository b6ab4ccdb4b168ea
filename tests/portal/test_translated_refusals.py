"""The refusals and explanations of use cases are shown in the reader's language."""

import ast
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dunwell
from dunwell.cases.modalities.answer_modality import approve_modality
from dunwell.interfaces.portal.render.pages import load_environment
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import (
    STAFF_CATALOGUES,
    CountText,
    InstantText,
    LazyText,
    load_languages,
)
from tests.support.application import an_application
from tests.support.harness import a_harness
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.portal_data import PortalData, create_portal_data

_ROOT = Path(dunwell.__file__).parent
_TEXT_CHECKS = (
    "contact/messages/templates/template_faults.py", "contact/messages/templates/merchant_rules.py",
    "contact/messages/templates/merchant_rules.py", "core/workflows/texts.py",
)  # fmt: skip


def _list_messages(path: Path) -> Iterator[ast.expr]:
    """Return what is passed as the message of each `Fault`, and what is assigned to `message`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Fault":
            yield node.args[1]
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "message":
            yield node.value


@pytest.mark.parametrize("name", _TEXT_CHECKS)
def test_every_fault_of_a_text_can_be_translated(name: str) -> None:
    messages = list(_list_messages(_ROOT / name))

    assert messages
    fixed = [
        ast.unparse(each) for each in messages if isinstance(each, ast.Constant | ast.JoinedStr)
    ]
    # The form of the settings has its own text for this one.
    assert [each for each in fixed if "quiet hours" not in each] == []


def test_values_in_a_translated_text_are_localised_and_escaped() -> None:
    environment = load_environment(load_languages(STAFF_CATALOGUES)["de"])
    template = environment.from_string("{{ text | translated }}")

    over = LazyText("The claim is closed (%(claim_status)s).", claim_status="COLLECTED")
    assert template.render(text=over) == "Die Forderung ist abgeschlossen (Bezahlt)."
    assert over == "The claim is closed (COLLECTED)."
    waits = InstantText("2026-03-09 10:00 Europe/Berlin", datetime(2026, 3, 9, 9, tzinfo=UTC))
    attachment = LazyText("waiting for an attachment until %(until)s", until=waits)
    shown = template.render(text=attachment, timezone="Europe/Berlin")
    assert "09.03.2026" in shown
    assert "10:00" in shown
    skipped = LazyText("skipped: %(reason)s", reason=LazyText("its conditions are not met"))
    assert template.render(text=skipped).startswith("übersprungen: ")
    named = LazyText('The wait "%(name)s" ends at this time.', name="<b>")
    assert "&lt;b&gt;" in template.render(text=named)
    size = LazyText(
        "The formatted text has %(characters)s characters; the maximum is %(most)s. Use fewer "
        "paragraphs, lists and other formatting.",
        characters=CountText(12_345), most=CountText(10_000),
    )  # fmt: skip
    assert "12,345" in size
    assert template.render(text="A provider's <words>") == (
        '<span lang="en">A provider&#39;s &lt;words&gt;</span>'
    )


@pytest.fixture
async def portal_data(resources: Resources, clock: MovableClock) -> PortalData:
    return await create_portal_data(await a_harness(resources, clock))


@pytest.fixture
async def german_clerk(resources: Resources, portal_data: PortalData) -> Clerk:
    return await sign_in(
        resources, an_application(resources).app, portal_data.harness, language="de"
    )


async def test_german_explanations_contain_no_english(
    german_clerk: Clerk, portal_data: PortalData
) -> None:
    for claim_id in portal_data.claim_ids[:6]:
        page = await german_clerk.get(f"/claims/{claim_id}/why")
        assert page.status_code == 200
        assert 'lang="en"' not in page.text.partition("<main")[2]


async def test_a_plan_answered_by_a_colleague_is_reported_in_german(
    german_clerk: Clerk, portal_data: PortalData
) -> None:
    path = f"/claims/{portal_data.plan_claim_id}/plans/{portal_data.plan_id}"
    form = await german_clerk.get(path)
    async with portal_data.harness.work() as work:
        await approve_modality(work, portal_data.plan_claim_id, portal_data.plan_id)

    fields = {**read_fields(form.text), "outcome": "reject", "reason": "Zu lang."}
    answer = await german_clerk.post(path, fields)

    assert "Die Anfrage ist bereits beantwortet (Genehmigt)." in answer.text
    assert "Zu lang." in answer.text


async def test_a_duplicate_payment_number_is_refused_in_german(
    german_clerk: Clerk, portal_data: PortalData
) -> None:
    path = f"/claims/{portal_data.claim_ids[6]}/payment"
    await german_clerk.submit(path, amount="1,00", number="Bank-77")

    answer = await german_clerk.submit(path, amount="2,00", number="Bank-77")

    assert answer.status_code == 409
    assert "bereits eine Zahlung mit einem anderen Betrag erfasst" in answer.text
