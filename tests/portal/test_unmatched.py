"""Unmatched replies and reports in the portal: they are listed until an operator has seen them,
which is recorded in the audit log."""

from typing import Any

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.contact.sending.incoming_sms import ReceivedSms
from dunwell.contact.sending.receive_sms import receive_sms
from dunwell.contact.sending.report import Report
from dunwell.contact.sending.store import save_report
from dunwell.interfaces.portal.web.lists import PAGE_SIZE
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, sign_in

_PATH = "/portal/delivery-providers/unmatched"
_AUDIT = """
SELECT action, actor_kind, before, after FROM installation_audit
WHERE $1 > 0 AND (action = 'incoming.look' OR action = 'report.look') ORDER BY audit_id
"""


async def a_harness_with_unmatched(
    resources: Resources, clock: MovableClock, *texts: str
) -> Harness:
    harness = await a_harness(resources, clock)
    for number, text in enumerate(texts):
        incoming = ReceivedSms("sms-a", str(number), "+4915112345678", "+4930123", text)
        await receive_sms(resources, incoming)
    return harness


async def a_clerk(resources: Resources, harness: Harness, roles: UserRoles | None = None) -> Clerk:
    return await sign_in(resources, an_application(resources).app, harness, roles)


async def save_a_report(resources: Resources, clock: MovableClock) -> None:
    given: dict[str, Any] = {"happened_at": None, "reference": None, "cause": "OTHER", "raw": b""}
    report = Report(
        provider="post", provider_message_id="x<i>", state="FAILED", reason="5.1.1", **given
    )
    async with resources.database.transaction() as tx:
        await save_report(tx, report, real_now=clock.now(), ids=resources.ids)
    await process_reports(resources)


@pytest.mark.parametrize(
    ("language", "word"), [("en", "Mark as read"), ("de", "Als gelesen markieren")]
)
async def test_an_unmatched_reply_is_marked_as_seen_once(
    resources: Resources, clock: MovableClock, language: str, word: str
) -> None:
    harness = await a_harness_with_unmatched(resources, clock, "<b>Wer ist da?</b>", "Hallo")
    clerk, other = [await a_clerk(resources, harness) for _ in range(2)]
    await clerk.get(f"{_PATH}?lang={language}")
    shown = (await clerk.get(_PATH)).text
    assert "&lt;b&gt;Wer ist da?" in shown
    assert shown.index("Hallo") < shown.index("Wer ist da?")
    assert word in shown
    await other.get(_PATH)
    # The first form of the page belongs to the newest entry.
    left = (await clerk.follow(await clerk.send(_PATH))).text
    assert 'class="done"' in left
    assert "Hallo" not in left
    assert "Wer ist da?" in left
    second = await other.follow(await other.send(_PATH))
    assert "Someone else has already marked it as read" in second.text
    [row] = [tuple(row) for row in await harness.rows(_AUDIT)]
    looked = {"lookedAt": clock.now().isoformat()}
    assert row == ("incoming.look", "USER", {"lookedAt": None}, looked)


async def test_unmatched_delivery_reports_can_be_marked_as_seen(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_unmatched(resources, clock)
    await save_a_report(resources, clock)
    clerk = await a_clerk(resources, harness)
    assert _PATH in (await clerk.get("/portal/delivery-providers")).text
    assert "No unmatched replies" in (await clerk.get(_PATH)).text
    shown = await clerk.get(f"{_PATH}?of=reports")
    assert "x&lt;i&gt;" in shown.text
    left = await clerk.follow(await clerk.send(_PATH))
    assert "No unmatched replies" in left.text
    assert [row["action"] for row in await harness.rows(_AUDIT)] == ["report.look"]


async def test_pages_of_the_list_have_no_gaps(resources: Resources, clock: MovableClock) -> None:
    words = [f"word-{number:03}-" for number in range(PAGE_SIZE + 2)]
    harness = await a_harness_with_unmatched(resources, clock, *words)
    clerk = await a_clerk(resources, harness)
    first = (await clerk.get(_PATH)).text
    after = first.split("after=")[1].split('"')[0]
    second = (await clerk.get(f"{_PATH}?of=sms&after={after}")).text
    assert [word for word in words if word in first] == words[2:]
    assert [word for word in words if word in second] == words[:2]
    assert "Next page" not in second
    # An invalid cursor shows the beginning of the list.
    for strange in ("x", after[:-1], f"{after}&of=reports"):
        assert (await clerk.get(f"{_PATH}?after={strange}")).status_code == 200


async def test_a_form_that_names_no_message_changes_nothing(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_unmatched(resources, clock, "Hallo")
    clerk = await a_clerk(resources, harness)
    await clerk.get(_PATH)
    assert (await clerk.send(_PATH, key="x")).status_code == 404
    await clerk.get(_PATH)
    assert (await clerk.send(_PATH, token="x")).status_code == 403
    assert "Hallo" in (await clerk.get(_PATH)).text
    assert await harness.rows(_AUDIT) == []


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR, Role.MERCHANT_USER])
async def test_the_list_is_only_for_operators_of_all_merchants(
    resources: Resources, clock: MovableClock, role: Role
) -> None:
    harness = await a_harness_with_unmatched(resources, clock, "Hallo")
    good = await a_clerk(resources, harness)
    await good.get(_PATH)
    roles = UserRoles(memberships={harness.merchant.merchant_id: role})
    clerk = await a_clerk(resources, harness, roles)
    refused = await clerk.get(_PATH)
    assert refused.status_code in (403, 404)
    assert "Hallo" not in refused.text
    clerk.page = good.page
    token = (await clerk.get("/portal/account")).text.split('name="token" value="')[1].split('"')[0]
    clerk.page = good.page
    assert (await clerk.send(_PATH, token=token)).status_code in (403, 404)
    assert await harness.rows(_AUDIT) == []
