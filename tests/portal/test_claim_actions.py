"""Actions on one claim with the portal's forms, also by two users at once."""

import pytest

from dunwell.core.claims.claim_holds import pause_claim
from dunwell.core.claims.states import Status
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields

_AUDIT = """
SELECT action, actor_kind FROM audit_log WHERE merchant_id = $1 AND subject = $2 ORDER BY audit_id
"""


async def _actions(harness: Harness, claim_id: int) -> list[str]:
    return [row["action"] for row in await harness.rows(_AUDIT, f"claim:{claim_id}")]


async def test_a_payment_lowers_the_outstanding_amount(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    page = await clerk.submit(f"/claims/{claim_id}/payment", amount="2.40", number="bank-7")

    assert "Payment recorded." in page.text
    view = await harness.read(claim_id)
    assert view.balance.outstanding_cents == 10000


async def test_a_payment_form_submitted_twice_records_one_payment(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    form = await clerk.get(f"/claims/{claim_id}/payment")
    fields = {**read_fields(form.text), "amount": "2.40"}

    first = await clerk.post(f"/claims/{claim_id}/payment", fields)
    second = await clerk.post(f"/claims/{claim_id}/payment", fields)

    assert (first.status_code, second.status_code) == (303, 409)
    assert (await harness.read(claim_id)).balance.outstanding_cents == 10000


async def test_an_invalid_entry_is_reported_and_stays_in_the_form(
    clerk: Clerk, claim_id: int
) -> None:
    page = await clerk.submit(
        f"/claims/{claim_id}/payment", amount="a lot", on="2030-01-01", number="bank-<7>"
    )

    assert page.status_code == 422
    assert "Enter an amount" in page.text
    assert "The date must not be in the future." in page.text
    assert 'value="bank-&lt;7&gt;"' in page.text


async def test_after_a_conflict_the_change_is_shown_and_the_entries_are_kept(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    form = await clerk.get(f"/claims/{claim_id}/contact")
    fields = {**read_fields(form.text), "email": "new@example.org"}
    async with harness.work() as work:
        await pause_claim(work, claim_id, reason="Somebody else")

    answer = await clerk.post(f"/claims/{claim_id}/contact", fields)

    assert answer.status_code == 409
    assert "Someone else changed this while you were editing" in answer.text
    assert 'value="new@example.org"' in answer.text
    assert (await harness.read(claim_id)).debtor.email != "new@example.org"

    again = await clerk.send(f"/claims/{claim_id}/contact")
    assert again.status_code == 303
    assert (await harness.read(claim_id)).debtor.email == "new@example.org"


async def test_each_field_of_the_contact_data_can_be_changed(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    page = await clerk.submit(
        f"/claims/{claim_id}/contact", city="Kiel", street="Wall 1", mobileNumber="+4915112345678"
    )

    assert "Contact details saved." in page.text
    debtor = (await harness.read(claim_id)).debtor
    assert (debtor.mobile_number, debtor.address and debtor.address.city) == (
        "+4915112345678", "Kiel",
    )  # fmt: skip


async def test_a_refused_address_is_reported_next_to_its_field(clerk: Clerk, claim_id: int) -> None:
    page = await clerk.submit(f"/claims/{claim_id}/contact", email="no address")

    assert page.status_code == 422
    assert 'id="email-error"' in page.text


async def test_a_claim_can_be_paused_resumed_and_ended(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    await clerk.submit(f"/claims/{claim_id}/pause", until="2026-03-20", reason="Ill")
    assert [hold.kind for hold in (await harness.read(claim_id)).holds] == ["PAUSE"]

    await clerk.submit(f"/claims/{claim_id}/resume")
    assert (await harness.read(claim_id)).holds == []

    await clerk.submit(f"/claims/{claim_id}/end", how="withdraw")
    assert (await harness.read(claim_id)).status is Status.WITHDRAWN


async def test_ending_a_claim_without_a_reason_is_refused(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    page = await clerk.submit(f"/claims/{claim_id}/end")

    assert page.status_code == 422
    assert (await harness.read(claim_id)).status is Status.IN_PROCESS


async def test_a_note_appears_in_the_timeline_as_plain_text(clerk: Clerk, claim_id: int) -> None:
    page = await clerk.submit(f"/claims/{claim_id}/note", text="Called.\n<script>x</script>")

    assert "Called.\n&lt;script&gt;x&lt;/script&gt;" in page.text
    assert "<script>x" not in page.text


@pytest.mark.parametrize("text", ["x" * 256, "a\x07b", "a\nb"], ids=["long", "bell", "lines"])
@pytest.mark.parametrize(("act", "name"), [("pause", "reason"), ("payment", "number")])
async def test_single_line_texts_have_the_same_limit_as_in_the_api(
    clerk: Clerk, harness: Harness, claim_id: int, act: str, name: str, text: str
) -> None:
    page = await clerk.submit(f"/claims/{claim_id}/{act}", **{name: text})

    assert page.status_code == 422
    assert f'id="{name}-error"' in page.text
    assert (await harness.read(claim_id)).holds == []
    assert await harness.rows("SELECT 1 FROM payments WHERE merchant_id = $1") == []


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "tomorrow"])
@pytest.mark.parametrize(("act", "name"), [("pause", "until"), ("payment", "on")])
async def test_a_date_beyond_the_range_of_the_calendar_is_refused(
    clerk: Clerk, claim_id: int, act: str, name: str, day: str
) -> None:
    page = await clerk.submit(f"/claims/{claim_id}/{act}", **{name: day})

    assert page.status_code == 422
    assert "Enter a valid date" in page.text
    assert (await clerk.get(f"/claims/{claim_id}/account?on={day}")).status_code == 200


async def test_a_clerk_can_record_an_objection(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    page = await clerk.submit(
        f"/claims/{claim_id}/dispute", reason="GOODS_RETURNED", message="By phone"
    )

    assert "Dispute recorded" in page.text
    assert [hold.kind for hold in (await harness.read(claim_id)).holds] == ["DISPUTE"]


async def test_views_of_a_claim_are_recorded_for_the_merchants_staff_and_not_for_operators(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    await clerk.get(f"/claims/{claim_id}")
    assert "claim.look" not in await _actions(harness, claim_id)

    await staff.get(f"/claims/{claim_id}")
    await staff.get(f"/claims/{claim_id}/account")

    assert (await _actions(harness, claim_id)).count("claim.look") == 2


@pytest.mark.parametrize(("seen", "status"), [("0", 409), (None, 422)], ids=["old", "refused"])
async def test_showing_a_form_again_is_recorded_as_a_view(
    staff: Clerk, harness: Harness, claim_id: int, seen: str | None, status: int
) -> None:
    """The form shows stored data, so submitting an empty form counts as a view."""
    form = read_fields((await staff.get(f"/claims/{claim_id}/contact")).text)
    before = (await _actions(harness, claim_id)).count("claim.look")

    answer = await staff.post(
        f"/claims/{claim_id}/contact",
        {"token": form["token"], "revision": seen or form["revision"], "email": "no address"},
    )

    assert answer.status_code == status
    assert (await _actions(harness, claim_id)).count("claim.look") == before + 1


async def test_the_preview_of_the_debtors_page_raises_no_event(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    count = "SELECT count(*) AS n FROM events WHERE merchant_id = $1"
    sessions = "SELECT count(*) AS n FROM debtor_sessions WHERE merchant_id = $1"
    before = (await harness.rows(count))[0]["n"]

    page = await clerk.get(f"/claims/{claim_id}/debtor")

    assert page.status_code == 200
    assert "This is a preview" in page.text or "Das ist eine Vorschau" in page.text
    assert "form-action 'none'" in page.headers["Content-Security-Policy"]
    assert (await harness.rows(count))[0]["n"] == before
    assert (await harness.rows(sessions))[0]["n"] == 0
