"""The suppression list: adding and removing addresses, once and with a reason."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.contact.messages.suppression import load_suppressed_addresses
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields

_AUDIT = """
SELECT action, before, after, details FROM audit_log
WHERE merchant_id = $1 AND action LIKE 'address.%' ORDER BY audit_id
"""
ERIKA = "erika@example.org"


async def is_suppressed(harness: Harness, address: str = ERIKA) -> bool:
    async with harness.work() as work:
        keys = harness.resources.keys
        asked = [("EMAIL", address)]
        found: Any = await load_suppressed_addresses(work.tx, keys, work.merchant_id, asked)  # type: ignore[arg-type]
    return bool(found)


async def add(clerk: Clerk, **typed: str) -> Any:
    fields = {"channel": "EMAIL", "address": ERIKA, "reason": "DEBTOR", **typed}
    return await clerk.submit("/suppressions", **fields)


async def find_digest(clerk: Clerk) -> str:
    page = await clerk.get("/suppressions")
    return page.text.partition("/suppressions/EMAIL/")[2].partition('"')[0]


async def test_an_address_is_added_once_and_masked(clerk: Clerk, harness: Harness) -> None:
    first, second = await add(clerk), await add(clerk, address=" Erika@Example.org ")

    assert "Address suppressed" in first.text
    assert "already on the suppression list" in second.text
    assert await is_suppressed(harness)
    assert ERIKA not in second.text
    [row] = await harness.rows(_AUDIT)
    assert (row["action"], row["after"]["reason"]) == ("address.suppress", "DEBTOR")
    assert ERIKA not in str(dict(row))


@pytest.mark.parametrize(
    ("name", "text"), [("address", "no address"), ("address", ""), ("reason", "NONE"),
                       ("channel", "PIGEON")],
)  # fmt: skip
async def test_an_invalid_address_is_reported_next_to_its_field(
    clerk: Clerk, harness: Harness, name: str, text: str
) -> None:
    page = await add(clerk, **{name: text})

    assert page.status_code == 422
    assert f'id="{name}-error"' in page.text
    assert await harness.rows("SELECT FROM suppressions WHERE merchant_id = $1") == []


async def test_removing_an_address_needs_a_reason_and_happens_once(
    clerk: Clerk, harness: Harness
) -> None:
    await add(clerk)
    path = f"/suppressions/EMAIL/{await find_digest(clerk)}"
    shown = await clerk.get(path)
    assert "The debtor asked not to be contacted at this address." in shown.text
    form = read_fields(shown.text)

    missing = await clerk.post(path, form)
    assert (missing.status_code, await is_suppressed(harness)) == (422, True)
    first = await clerk.follow(await clerk.post(path, {**form, "reason": "BY_MISTAKE"}))
    second = await clerk.follow(await clerk.post(path, {**form, "reason": "OTHER"}))

    assert "removed from the suppression list" in first.text
    assert "someone else has already removed" in second.text
    assert not await is_suppressed(harness)
    [_, row] = await harness.rows(_AUDIT)
    assert row["before"] == {
        "address": "e***@example.org", "reason": "DEBTOR", "since": form["revision"],
    }  # fmt: skip
    assert row["details"] == {"reason": "BY_MISTAKE"}


async def test_an_address_that_was_added_again_is_shown_before_it_is_removed(
    clerk: Clerk, harness: Harness
) -> None:
    await add(clerk)
    path = f"/suppressions/EMAIL/{await find_digest(clerk)}"
    form = read_fields((await clerk.get(path)).text)
    await harness.rows(
        "UPDATE suppressions SET created_at = $2 WHERE merchant_id = $1",
        harness.clock.now() + timedelta(microseconds=1),
    )

    answer = await clerk.post(path, {**form, "reason": "OTHER"})

    assert answer.status_code == 409
    assert "The address was removed and added again." in answer.text
    assert await is_suppressed(harness)
    again = {**read_fields(answer.text), "reason": "OTHER"}
    assert again["revision"] != form["revision"]
    await clerk.follow(await clerk.post(path, again))
    assert not await is_suppressed(harness)


async def test_users_without_the_permission_see_the_list_but_no_form(
    clerk: Clerk, staff: Clerk, harness: Harness
) -> None:
    await add(clerk)
    digest = await find_digest(clerk)

    page = await staff.get("/suppressions")
    assert "e***@example.org" in page.text
    assert "Add address" not in page.text
    assert digest not in page.text
    for bad in (f"/suppressions/SMS/{digest}", "/suppressions/EMAIL/xyz", "/suppressions/NO/00"):
        assert (await clerk.get(bad)).status_code == 404
