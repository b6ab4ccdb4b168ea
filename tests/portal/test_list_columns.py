"""Columns and sorting of lists: they are part of the address, announced to screen readers, saved
with a view, and limited to orders that an index supports."""

import re
from uuid import uuid4

import pytest

from dunwell.core.claims.searching.search_claims import index_claims
from dunwell.platform.resources import Resources
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields

_REFERENCE = re.compile(r'<bdi class="together" translate="no">([^<]+)</bdi>')


def _list_references(page: str) -> list[str]:
    return _REFERENCE.findall(page)


def _list_headings(page: str) -> list[str]:
    head = page.partition("<thead>")[2].partition("</thead>")[0]
    words = (re.sub(r"<[^>]+>", "", each) for each in re.findall(r"<th .*?</th>", head, re.DOTALL))
    return [each.strip(" ↑↓↕\n") for each in words]


@pytest.fixture
async def claims(harness: Harness) -> list[int]:
    return await harness.create("B-1", "A-1", "C-1")


@pytest.mark.usefixtures("claims")
@pytest.mark.parametrize(
    ("sort", "aria", "order"),
    [
        ("reference", "ascending", ["A-1", "B-1", "C-1"]),
        ("-reference", "descending", ["C-1", "B-1", "A-1"]),
    ],
)
async def test_a_column_heading_sorts_the_list_and_announces_the_order(
    clerk: Clerk, sort: str, aria: str, order: list[str]
) -> None:
    page = (await clerk.get(f"/claims?sort={sort}")).text

    assert _list_references(page) == order
    assert page.count("aria-sort=") == 1
    assert f'aria-sort="{aria}"><a href="{clerk.at("/claims")}' in page


@pytest.mark.usefixtures("claims")
@pytest.mark.parametrize("sort", ["open", "--reference", "'; DROP TABLE claims", "x" * 500])
async def test_an_order_without_an_index_is_not_offered(clerk: Clerk, sort: str) -> None:
    page = await clerk.get("/claims", params={"sort": sort})

    assert page.status_code == 200
    assert _list_references(page.text) == _list_references((await clerk.get("/claims")).text)


@pytest.mark.usefixtures("claims")
async def test_columns_are_chosen_in_a_form_and_become_part_of_the_address(clerk: Clerk) -> None:
    chosen = await clerk.get("/claims?columns=reference&column=number&column=owed&status=CREATED")
    assert chosen.status_code == 303
    page = await clerk.follow(chosen)

    assert page.url.query == b"status=CREATED&columns=owed.number"
    assert _list_headings(page.text) == ["Reference", "Total claim", "Claim no."]
    alone = await clerk.get("/claims?columns=reference")
    assert _list_headings(alone.text) == ["Reference"]


async def test_an_empty_default_column_is_left_out(clerk: Clerk, harness: Harness) -> None:
    await harness.create("A-1", customerNumber=None)
    assert "Customer no." not in _list_headings((await clerk.get("/claims")).text)
    asked = await clerk.get("/claims?columns=customer")
    assert "Customer no." in _list_headings(asked.text)
    await harness.create("A-2", customerNumber="K-1")
    assert "Customer no." in _list_headings((await clerk.get("/claims")).text)


@pytest.mark.usefixtures("claims")
async def test_a_saved_view_keeps_the_order_and_the_columns(clerk: Clerk) -> None:
    page = await clerk.get("/claims?status=CREATED&sort=-reference&columns=owed")
    fields = {"token": read_fields(page.text)["token"], "name": "Mine"}
    looks = {"status": "CREATED", "sort": "-reference", "columns": "owed"}

    saved = await clerk.follow(await clerk.post("/views", {**fields, **looks}))

    address = clerk.at("/claims?status=CREATED&amp;sort=-reference&amp;columns=owed")
    assert f'<a href="{address}" aria-current="true"><bdi>Mine</bdi>' in saved.text


@pytest.mark.usefixtures("claims")
async def test_at_the_limit_of_views_only_an_existing_view_can_be_saved(
    clerk: Clerk, harness: Harness
) -> None:
    page = await clerk.get("/claims?status=CREATED")
    fields = {"token": read_fields(page.text)["token"]}
    await clerk.post("/views", {**fields, "name": "Mine"})
    await harness.rows(
        "INSERT INTO saved_views (merchant_id, view_id, user_id, is_shared, list, name, query,"
        " created_at) SELECT merchant_id, gen_random_uuid(), user_id, is_shared, list,"
        " 'View ' || n, query, created_at FROM saved_views, generate_series(2, 50) n"
        " WHERE merchant_id = $1"
    )

    replaced = await clerk.follow(
        await clerk.post("/views", {**fields, "name": "Mine", "status": "CREATED"})
    )
    refused = await clerk.follow(await clerk.post("/views", {**fields, "name": "Another"}))

    assert "View saved." in replaced.text
    assert "The limit of 50 saved views is reached. Delete one first." in refused.text
    assert f'href="{clerk.at("/claims?status=CREATED")}"' in refused.text


@pytest.mark.usefixtures("claims")
async def test_an_order_that_omits_claims_offers_no_action_for_all_claims(clerk: Clerk) -> None:
    """The order by next step omits claims without one, and bulk actions must not affect claims that
    are not listed."""
    usual, due = await clerk.get("/claims"), await clerk.get("/claims?sort=next")

    assert '<option value="all">' in usual.text
    assert '<option value="all">' not in due.text
    assert "Only claims that have a next step" in due.text


@pytest.mark.parametrize("path", ["/payments", "/messages", "/suppressions"])
async def test_other_lists_can_be_reversed(clerk: Clerk, harness: Harness, path: str) -> None:
    for number, claim_id in enumerate(await harness.create("A-1", "A-2")):
        await harness.pay(claim_id, 100 + number, f"tx-{number}")
    await harness.run()

    first, turned = await clerk.get(path), await clerk.get(f"{path}?sort=time")

    rows = []
    for page, aria in ((first, "descending"), (turned, "ascending")):
        body = page.text.partition("<main")[2].partition("</main>")[0].partition("<tbody>")[2]
        assert (f'aria-sort="{aria}"' in page.text) == bool(body)
        rows.append(re.findall(r"<tr>.*?</tr>", body, re.DOTALL))
    assert rows[0] == rows[1][::-1]
    assert len(rows[0]) == (0 if path == "/suppressions" else 2)


async def test_a_search_finds_only_claims_that_match_the_other_filters(
    resources: Resources, clerk: Clerk, harness: Harness
) -> None:
    await harness.create("INV-1")
    await harness.run()
    await index_claims(resources)
    [claim] = await harness.rows("SELECT workflow_id, status FROM claims WHERE merchant_id = $1")
    filters = {"workflow": claim["workflow_id"], "status": claim["status"], "least": "1"}
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    assert _list_references((await clerk.get(f"/claims?q=INV-1&{query}")).text) == ["INV-1"]
    for other in ({"workflow": uuid4()}, {"status": "ARCHIVED"}, {"least": "9999"}):
        query = "&".join(f"{name}={value}" for name, value in {**filters, **other}.items())
        assert _list_references((await clerk.get(f"/claims?q=INV-1&{query}")).text) == []
