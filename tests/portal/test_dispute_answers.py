"""Disputes in the portal: the inbox, drafts by two users, the preview, and the answer."""

from dunwell.cases.disputes.dispute import ClaimDispute
from tests.support.disputes import REJECTED, answer, dispute, give_evidence
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields

_STATE = "SELECT state, resolution, ended_claim FROM disputes WHERE merchant_id = $1"


def _path(opened: ClaimDispute) -> str:
    return f"/claims/{opened.claim_id}/disputes/{opened.dispute_id}"


async def test_the_oldest_objection_is_listed_first_with_its_due_date(
    clerk: Clerk, harness: Harness
) -> None:
    first, second = await harness.create("INV-1", "INV-2")
    await dispute(harness, first, message="=HYPERLINK(1)")
    await dispute(harness, second)

    page = (await clerk.get("/disputes")).text

    assert page.index("INV-1") < page.index("INV-2")
    assert "16 March 2026" in page
    assert "Open (2)" in page


async def test_an_answer_is_previewed_before_sending(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    form = await clerk.get(_path(opened))
    fields = {**read_fields(form.text), "outcome": "REJECTED", "message": "It <i>never</i> came."}

    shown = await clerk.follow(await clerk.post(_path(opened), {**fields, "do": "preview"}))

    assert "It &lt;i&gt;never&lt;/i&gt; came." in shown.text
    assert "The workflow stays on hold until" in shown.text
    assert (await harness.rows(_STATE))[0]["state"] == "OPEN"

    sent = await clerk.follow(await clerk.send(f"{_path(opened)}/preview"))
    assert "Response sent." in sent.text
    [row] = await harness.rows(_STATE)
    assert (row["state"], row["resolution"]) == ("REJECTED", "It <i>never</i> came.")
    assert await harness.rows("SELECT 1 FROM response_drafts WHERE merchant_id = $1") == []


async def test_a_draft_is_deleted_when_another_clerk_answers(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    form = read_fields((await clerk.get(_path(opened))).text)
    await clerk.post(_path(opened), {**form, "message": "Begun.", "do": "save"})
    assert len(await harness.rows("SELECT 1 FROM response_drafts WHERE merchant_id = $1")) == 1

    await answer(harness, opened, REJECTED)

    assert await harness.rows("SELECT 1 FROM response_drafts WHERE merchant_id = $1") == []


async def test_an_answer_without_a_decision_is_not_previewed(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    form = await clerk.get(_path(opened))

    answer = await clerk.post(
        _path(opened), {**read_fields(form.text), "message": "Kept all the same.", "do": "preview"}
    )

    assert answer.status_code == 422
    assert "Choose a decision." in answer.text
    assert "Kept all the same." in answer.text


async def test_two_clerks_drafts_of_one_answer_are_both_kept(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    mine = read_fields((await clerk.get(_path(opened))).text)
    theirs = read_fields((await staff.get(_path(opened))).text)

    first = await staff.post(_path(opened), {**theirs, "message": "Theirs, long.", "do": "save"})
    second = await clerk.post(_path(opened), {**mine, "message": "Mine, long.", "do": "save"})

    assert (first.status_code, second.status_code) == (303, 409)
    assert "Theirs, long." in second.text
    assert "Mine, long." in second.text
    [row] = await harness.rows("SELECT message FROM response_drafts WHERE merchant_id = $1")
    assert row["message"] == "Theirs, long."

    assert (await clerk.send(_path(opened), do="save")).status_code == 303
    [row] = await harness.rows("SELECT message FROM response_drafts WHERE merchant_id = $1")
    assert row["message"] == "Mine, long."


async def test_an_answer_is_not_sent_if_the_draft_changed_after_the_preview(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    fields = read_fields((await clerk.get(_path(opened))).text)
    shown = await clerk.follow(
        await clerk.post(_path(opened), {**fields, "outcome": "REJECTED", "do": "preview"})
    )
    theirs = read_fields((await staff.get(_path(opened))).text)
    await staff.post(_path(opened), {**theirs, "outcome": "ACCEPTED", "do": "save"})

    answer = await clerk.post(f"{_path(opened)}/preview", read_fields(shown.text))

    assert answer.status_code == 409
    assert (await harness.rows(_STATE))[0]["state"] == "OPEN"


async def test_a_second_answer_is_refused_and_shows_the_first(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    mine = read_fields((await clerk.get(_path(opened))).text)
    theirs = read_fields((await staff.get(_path(opened))).text)
    await staff.post(_path(opened), {**theirs, "outcome": "ACCEPTED", "do": "preview"})
    await staff.get(f"{_path(opened)}/preview")
    await staff.send(f"{_path(opened)}/preview")

    answer = await clerk.post(
        _path(opened), {**mine, "outcome": "REJECTED", "message": "My own words.", "do": "preview"}
    )

    assert answer.status_code == 409
    assert "Someone else has already responded" in answer.text
    assert "My own words." in answer.text
    [row] = await harness.rows(_STATE)
    assert (row["state"], row["ended_claim"]) == ("ACCEPTED", True)


async def test_a_response_template_is_appended_to_the_entered_text(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    await clerk.submit("/answer-texts", name="Returned", text="Your parcel has not reached us.")
    [row] = await harness.rows("SELECT template_id FROM response_templates WHERE merchant_id = $1")
    opened = await dispute(harness, claim_id)
    fields = read_fields((await clerk.get(_path(opened))).text)

    page = await clerk.follow(
        await clerk.post(
            _path(opened),
            {**fields, "message": "Hello,", "text": str(row["template_id"]), "do": "insert"},
        )
    )

    assert "Hello,\n\nYour parcel has not reached us." in page.text


async def test_evidence_is_downloaded_with_a_policy_that_blocks_scripts(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    file_id = await give_evidence(harness, opened, "proof.pdf")

    answer = await clerk.get(f"{_path(opened)}/files/{file_id}")

    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
