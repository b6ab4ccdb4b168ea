"""Trying rules on a claim and on the claims of the last 30 days: which rule matches, which ones
nearly match and why not, and which workflows the claims would get."""

import re
from datetime import timedelta

import pytest

from tests.portal.test_rules import plain
from tests.support.application import an_application
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.portal_rules import ABROAD, LARGE, RULES, TRIAL, add_rules, save_draft


def items(value: str) -> list[dict[str, str]]:
    return [{"reference": "x", "type": "PRIMARY", "value": value}]


@pytest.fixture(autouse=True)
async def _rules(harness: Harness) -> None:
    await add_rules(harness)


async def test_a_trial_finds_a_claim_by_reference_and_names_near_misses(
    clerk: Clerk, harness: Harness
) -> None:
    [claim_id] = await harness.create("RE-1", items=items("43000"), address={
        "street": "Weg 1", "postalCode": "1010", "city": "Wien", "country": "AT",
    })  # fmt: skip
    words = plain((await clerk.get("/rules/try?reference=RE-1")).text)
    assert "Assigned workflow: “Friendly”" in words
    assert "“Austria and Switzerland” matches." in words
    assert "Large : failed only on: Outstanding amount: at least €500.00 (claim: €430.00 )" in words
    by_number = await clerk.get(f"/rules/try?reference={claim_id}")
    assert "“Austria and Switzerland” matches." in plain(by_number.text)
    none = await clerk.get("/rules/try?reference=nothing")
    assert "No claim has this reference or number." in plain(none.text)


async def test_a_trial_uses_the_draft_unless_the_published_rules_are_chosen(
    clerk: Clerk, harness: Harness
) -> None:
    await harness.create("RE-1", items=items("60000"))
    await save_draft(harness, {**LARGE, "target": "Friendly"}, ABROAD)
    drafted = plain((await clerk.get("/rules/try?reference=RE-1")).text)
    published = plain((await clerk.get("/rules/try?reference=RE-1&rules=published")).text)
    assert "Tested version: draft." in drafted
    assert "Assigned workflow: “Friendly”" in drafted
    assert "Tested version: 5" in published
    assert "Assigned workflow: “Letters first”" in published


async def test_a_sample_claim_shows_each_outcome_of_a_split_with_its_share(clerk: Clerk) -> None:
    form = read_fields((await clerk.get("/rules/try")).text.replace('method="get"', ""))
    typed = {
        "outstanding": "12.50", "postalCode": "20459", "country": "AT", "currency": "EUR",
        "customFields.name": "shop", "customFields.value": "b",
    }  # fmt: skip
    page = await clerk.post("/rules/try", {**form, **typed})
    words = plain(page.text)
    assert "70 percent of these claims: Assigned workflow: “Friendly”" in words
    assert "30 percent of these claims: Assigned workflow: “Letters first”" in words
    assert "failed only on: Known debtor data: e-mail address (claim: none of these )" in words
    assert 'value="20459"' in page.text
    assert "20459" not in str(page.url)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("outstanding", "much", "Enter an amount"),
        ("outstanding", "", "fill this in"),
        ("age", "old", "whole number"),
        ("age", "999", "too large"),
        ("country", "XX", "country code"),
        ("language", "deutsch", "language code"),
        ("currency", "XXY", "currency code of three letters"),
        ("total", "1", "not be lower than the outstanding amount"),
    ],
)
async def test_errors_of_a_sample_claim_are_shown_next_to_their_fields(
    clerk: Clerk, name: str, text: str, words: str
) -> None:
    form = read_fields((await clerk.get("/rules/try")).text)
    page = await clerk.post("/rules/try", {**form, "outstanding": "5", name: text})
    assert page.status_code == 422
    assert f'id="{name}-error"' in page.text
    assert words in plain(page.text)


async def test_the_effect_counts_the_assignments_of_the_last_30_days(harness: Harness) -> None:
    await harness.create("OLD", items=items("60000"))
    harness.clock.advance(timedelta(microseconds=1))
    await harness.create("EDGE", items=items("60000"))
    harness.clock.advance(timedelta(days=30))
    await harness.create("BIG", "BIGGER", items=items("70000"))
    await harness.create("SMALL", items=items("500"))
    # Later changes of a claim do not count.
    await harness.rows("UPDATE claims SET workflow_id = NULL, workflow_major = NULL, due_at = NULL"
                     " WHERE merchant_id = $1")  # fmt: skip
    await save_draft(harness, {**LARGE, "target": "Friendly"}, ABROAD, {**TRIAL, "name": "Other"})
    # The session has expired by now.
    clerk = await sign_in(harness.resources, an_application(harness.resources).app, harness)
    words = plain((await clerk.get("/rules/effect")).text)
    assert "3 of 4 claims would have been assigned another workflow." in words
    assert "Letters first 3 0" in words
    assert "Friendly 1 4" in words
    assert "Large 3 3 no rule 1 1" in words
    assert "3 Letters first Large Friendly Large BIGGER , BIG , EDGE" in words
    assert "OLD" not in words
    assert "only the newest" not in words


async def test_the_effect_page_needs_a_draft(clerk: Clerk) -> None:
    page = await clerk.follow(await clerk.get("/rules/effect"))
    assert "There are no changes to publish." in plain(page.text)


async def test_many_claims_are_counted_in_several_pages(
    clerk: Clerk, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dunwell.cases.assignment.preview_rules.PAGE_SIZE", 2)
    monkeypatch.setattr("dunwell.interfaces.portal.rules.routes_try.MAX_COUNTED_CLAIMS", 2)
    await harness.create("A", "B", "C", items=items("60000"))
    await save_draft(harness, *RULES[1:])
    newest = await clerk.get("/rules/effect")
    words = plain(newest.text)
    assert "2 of 2 claims would have been assigned" in words
    assert "There are more claims. 2 are evaluated at a time" in words
    assert "C , B" in words
    onward = newest.text.partition('rel="next" href="')[2].partition('"')[0]
    older = await clerk.get(onward)
    assert "1 of 1 claims would have been assigned" in plain(older.text)
    assert re.findall(r'translate="no">([ABC])</bdi>', older.text) == ["A"]
