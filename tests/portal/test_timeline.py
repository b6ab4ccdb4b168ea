"""The timeline of a claim: its order within one instant, a wait in progress, and what a sent
message shows instead of its secrets."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from dunwell.contact.messages.claim_links import CODE_MASK, TOKEN_MASK
from dunwell.contact.messages.templates.facts import CHECK_MASK
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness
from tests.support.portal import Clerk, sign_in

# Five steps that run at one instant; their order is neither alphabetical nor numerical.
_STEPS: list[dict[str, Any]] = [
    {"id": 19, "name": "Mail", "kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"},
    {"id": 14, "name": "Small fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "100"},
    {"id": 17, "name": "Tell the ERP", "kind": "CHECKPOINT", "offset": 1, "message": "now"},
    {"id": 12, "name": "Large fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "300"},
    {"id": 15, "name": "Wait a week", "kind": "WAIT", "days": 7},
    {"id": 13, "name": "Last fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "400"},
    {"id": 11, "name": "Last wait", "kind": "WAIT", "days": 14},
]


@pytest.fixture
async def claim_id(harness: Harness) -> int:
    await harness.publish(a_definition(steps=_STEPS))
    [claim_id] = await harness.create("INV-2001")
    await harness.run()
    return claim_id


def read_timeline(page: str) -> list[str]:
    """Return the entries, the oldest first."""
    entries = page.partition('<ol class="timeline">')[2].partition("</ol>")[0].split("<li")[1:]
    plain = [
        re.sub(r"<[^>]*>", " ", each.partition(">")[2].partition("</p>")[0]) for each in entries
    ]
    return [" ".join(each.split()) for each in reversed(plain)]


async def test_steps_of_the_same_instant_appear_in_the_order_in_which_they_ran(
    clerk: Clerk, claim_id: int
) -> None:
    entries = read_timeline((await clerk.get(f"/claims/{claim_id}")).text)
    assert [each.split(" :")[0].split(":")[0] for each in entries[-5:]] == [
        "E-mail", "Step Small fee", "Step Tell the ERP", "Step Large fee", "Step Wait a week",
    ]  # fmt: skip


async def test_a_contact_appears_after_a_fee_of_the_same_instant(
    clerk: Clerk, harness: Harness
) -> None:
    settings = {**DOCUMENT["settings"], "feesNeedContact": False}
    steps = [_STEPS[1], {**_STEPS[0], "send": "IMMEDIATE"}, *_STEPS[4:]]
    await harness.publish(a_definition(steps=steps, settings=settings), "Fee first")
    [claim_id] = await harness.create("INV-2002")
    await harness.run()
    entries = read_timeline((await clerk.get(f"/claims/{claim_id}")).text)
    assert [each.split(" :")[0].split(":")[0] for each in entries[-3:]] == [
        "Step Small fee", "E-mail", "Step Wait a week",
    ]  # fmt: skip


async def test_a_wait_in_progress_shows_when_it_ends(
    clerk: Clerk, harness: Harness, claim_id: int, resources: Resources
) -> None:
    address = f"/claims/{claim_id}"
    assert " : started, ends " in read_timeline((await clerk.get(address)).text)[-1]
    [due_at] = await harness.rows("SELECT due_at FROM claims WHERE merchant_id = $1")
    assert clerk.page is not None
    shown = re.search(r'ends <time datetime="([^"]*)"', clerk.page.text)
    assert shown is not None
    assert datetime.fromisoformat(shown[1]) == due_at["due_at"]

    why = (await clerk.get(f"{address}/why")).text
    assert re.search(r"Wait a week</bdi></th>\s*<td>\s*started", why)

    async with harness.work() as work:
        await pause_claim(work, claim_id, reason="Holiday")
    paused = read_timeline((await clerk.get(address)).text)
    assert any(each.endswith(" : started") for each in paused)
    async with harness.work() as work:
        await resume_claim(work, claim_id)

    await harness.run_until(due_at["due_at"] + timedelta(days=1))
    # After a week the first session has expired.
    clerk = await sign_in(resources, an_application(resources).app, harness)
    later = read_timeline((await clerk.get(address)).text)
    waits = [each for each in later if "ait" in each]
    assert waits[0] == "Step Wait a week : started"
    assert waits[-1].startswith("Step Last wait : started, ends ")


@pytest.mark.parametrize(("language", "words"), [
    ("en", ["secret part of the debtor", "access code", "code that proves"]),
    ("de", ["geheimer Teil des Schuldner-Links", "Zugangscode der Ford", "Code, der die Echtheit"]),
])  # fmt: skip
async def test_secrets_in_the_original_message_are_replaced_by_descriptions(
    clerk: Clerk, harness: Harness, claim_id: int, language: str, words: list[str]
) -> None:
    [message] = await harness.rows(
        "SELECT communication_id FROM communications WHERE merchant_id = $1"
    )
    message_id = message["communication_id"]
    text = f"<b>Pay</b>: https://example.org/q/{TOKEN_MASK} or {CODE_MASK}, real: {CHECK_MASK}."
    async with harness.work() as work:
        await work.tx.execute(
            "UPDATE communication_contents SET body_text = $2 WHERE communication_id = $1",
            message_id, text,
        )  # fmt: skip
    page = await clerk.get(f"/claims/{claim_id}/messages/{message_id}?lang={language}")
    heading = {"en": "Original message", "de": "Originalnachricht"}[language]
    assert f"{heading}</h2>" in page.text
    for each in words:
        assert f'<span class="described">[{each}' in page.text
    assert "masked" not in page.text.partition("<pre")[2].partition("</pre>")[0]
    assert "_chk_code" not in page.text
    assert "&lt;b&gt;Pay&lt;/b&gt;" in page.text
