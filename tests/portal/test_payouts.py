"""The pages of payouts: the list by pages, and how the amount of one is made up."""

import html
import re

import pytest

from dunwell.interfaces.portal.statements import routes_payouts
from dunwell.interfaces.portal.web.lists import PAGE_SIZE
from tests.support.harness import Harness
from tests.support.payouts import move, pay_out
from tests.support.portal import Clerk
from tests.support.statements import StatementHarness, build_credit, build_file


def read_rows(page: str) -> list[str]:
    """Return the text of each row of the page's table."""
    table = re.findall(r"<table>(.*?)</table>", page, re.DOTALL)[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    texts = [html.unescape(re.sub(r"<[^>]*>", " ", each)) for each in rows]
    return [" ".join(each.replace("\u202f", " ").replace("\xa0", " ").split()) for each in texts]


async def test_a_payout_shows_how_its_amount_is_made_up(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    await move(harness, claim_id, "ch_1", "PAID", 102_40)
    await move(harness, claim_id, "re_1", "REFUNDED", 2_40)
    parts = ("ch_1", 102_40), ("re_1", -2_40), ("ch_other", 20_00)
    record_id = await pay_out(harness, 118_00, 2_00, *parts)
    listed = await clerk.get("/bank/payouts")
    assert f"/bank/payouts/{record_id}" in listed.text
    page = await clerk.get(f"/bank/payouts/{record_id}")
    assert read_rows(page.text)[1:] == [
        "INV-1001 Received ch_1 €102.40",
        "INV-1001 Refunded re_1 -€2.40",
        "1 movement that belongs to none of your claims €20.00",
        "Fees of the provider -€2.00",
        "Payout €118.00",
    ]
    assert "do not add up" not in page.text
    assert "not yet" in page.text


async def test_a_difference_is_shown(clerk: Clerk, harness: Harness, claim_id: int) -> None:
    await move(harness, claim_id, "ch_1", "PAID", 102_40)
    record_id = await pay_out(harness, 90_00, 2_00, ("ch_1", 102_40))
    page = await clerk.get(f"/bank/payouts/{record_id}")
    assert "Difference not explained -€10.40" in read_rows(page.text)
    assert "do not add up" in page.text
    silent = await pay_out(harness, 90_00, 0, payout_id="po_2")
    page = await clerk.get(f"/bank/payouts/{silent}")
    assert "does not say which payments" in page.text
    assert "do not add up" not in page.text


async def test_a_payout_that_arrived_leads_to_its_statement(clerk: Clerk, harness: Harness) -> None:
    bank = StatementHarness(harness)
    await bank.save()
    record_id = await pay_out(harness, 1_00, 0)
    day = harness.clock.now().date().isoformat()
    await bank.load(build_file(build_credit("1.00", "x", "B-1", day=day)))
    page = await clerk.get(f"/bank/payouts/{record_id}")
    assert "not yet" not in page.text
    [address] = re.findall(r'href="([^"]*/bank/accounts/main/statements/[^"]*)"', page.text)
    assert (await clerk.get(address)).status_code == 200
    assert "No entries." in (await clerk.get("/bank/payouts?show=awaited")).text


async def test_payouts_are_listed_by_pages_and_large_ones_are_cut(
    clerk: Clerk, harness: Harness, claim_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes_payouts, "_MAX_MOVEMENTS", 1)
    for number in (1, 2, 3):
        await move(harness, claim_id, f"ch_{number}", "PAID", 1_00)
    parts = [(f"ch_{number}", 1_00) for number in (1, 2, 3)]
    record_id = await pay_out(harness, 3_00, 0, *parts)
    page = await clerk.get(f"/bank/payouts/{record_id}")
    assert "2 further movements of your claims €2.00" in read_rows(page.text)
    for number in range(PAGE_SIZE):
        await pay_out(harness, 1_00, 0, payout_id=f"next-{number}")
    first = await clerk.get("/bank/payouts")
    assert str(record_id) not in first.text
    [following] = re.findall(r'rel="next" href="([^"]*)"', first.text)
    assert str(record_id) in (await clerk.get(html.unescape(following))).text
