"""A clerk confirms that a claim reached the right person despite a dispute."""

import pytest

from dunwell.cases.disputes.dispute import NewDispute
from dunwell.cases.disputes.open_dispute import open_dispute
from dunwell.cases.disputes.wrong_person import ReachedAddress
from tests.support.disputes import ACCEPTED, DEBTOR, dispute, resolve
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields

_SUPPRESSED = "SELECT reason FROM suppressions WHERE merchant_id = $1"
_STATE = "SELECT state, released_at IS NULL AS is_withheld FROM disputes WHERE merchant_id = $1"


@pytest.mark.parametrize("is_accepted", [False, True])
async def test_a_button_of_the_dispute_resumes_the_stopped_contacts(
    clerk: Clerk, harness: Harness, claim_id: int, *, is_accepted: bool
) -> None:
    reached = ReachedAddress("EMAIL", "erika@example.org")
    async with harness.work(DEBTOR) as work:
        opened = await open_dispute(
            work, harness.resources.keys, claim_id, NewDispute("WRONG_PERSON"), reached=reached
        )
    if is_accepted:
        await resolve(harness, opened, ACCEPTED, end_claim=False)
    path = f"/claims/{claim_id}/disputes/{opened.dispute_id}"
    page = await clerk.get(path)
    assert "The debtor page does not show the claim" in page.text
    assert len(await harness.rows(_SUPPRESSED)) == 1

    fields = {"token": read_fields(page.text)["token"]}
    shown = await clerk.follow(await clerk.post(f"{path}/right-person", fields))

    assert "The debtor page shows the claim again" in shown.text
    assert "Confirm that this is the right person" not in shown.text
    assert await harness.rows(_SUPPRESSED) == []
    [row] = await harness.rows(_STATE)
    assert tuple(row) == ("ACCEPTED" if is_accepted else "REJECTED", False)


async def test_a_death_is_shown_with_the_note_that_all_contact_has_stopped(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id, "PERSON_DIED")
    page = await clerk.get(f"/claims/{claim_id}/disputes/{opened.dispute_id}")
    assert "All contact with this person is suspended" in page.text


async def test_other_disputes_have_no_right_person_button_and_ignore_its_form(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id, "NOT_MY_DEBT")
    path = f"/claims/{claim_id}/disputes/{opened.dispute_id}"
    page = await clerk.get(path)
    assert "Confirm that this is the right person" not in page.text
    fields = {"token": read_fields(page.text)["token"]}
    await clerk.post(f"{path}/right-person", fields)
    assert [row["state"] for row in await harness.rows(_STATE)] == ["OPEN"]
