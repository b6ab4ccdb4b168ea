"""The pages of direct debits show what GoCardless collects."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.portal import Clerk, sign_in
from tests.support.provider_plans import ProviderPlan, a_provider_plan, open_gocardless


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        yield process


@pytest.fixture
async def plan(
    resources: Resources, clock: MovableClock, fake: FakeProviderProcess
) -> AsyncIterator[ProviderPlan]:
    """A plan whose first debit is at the provider."""
    async with open_gocardless(fake) as provider:
        plan = await a_provider_plan(resources, clock, fake, provider)
        await plan.give()
        await plan.run()
        yield plan


async def _sign_in(plan: ProviderPlan, role: Role = Role.OPERATOR) -> Clerk:
    app = an_application(plan.resources).app
    return await sign_in(plan.resources, app, plan.arrangement.harness, UserRoles(role))


async def _read(clerk: Clerk, path: str) -> str:
    page = await clerk.get(path)
    assert page.status_code == 200, page.text
    return " ".join(page.text.split())


async def _get_mandate_path(plan: ProviderPlan) -> str:
    [mandate] = await plan.mandates()
    return f"/claims/{plan.arrangement.claim_id}/mandates/{mandate.mandate_id}"


async def test_a_merchant_with_only_a_provider_has_the_area_without_releases(
    plan: ProviderPlan,
) -> None:
    clerk = await _sign_in(plan)
    assert 'data-key="l"' in await _read(clerk, "")
    page = await _read(clerk, "/debits")
    assert page.count("GoCardless") >= 3
    # Two debits are planned, so GoCardless cannot have announced them.
    assert (page.count("by GoCardless"), page.count("not yet")) == (1, 2)
    assert "at the provider" in page
    for absent in ("To release", "Files for the bank", "not set up"):
        assert absent not in page
    assert "at the provider" in await _read(clerk, "/debits?show=all&state=DELIVERED")
    assert "No entries." in await _read(clerk, "/debits?show=all&state=RETURNED")


async def test_a_debit_shows_its_id_and_result(plan: ProviderPlan) -> None:
    clerk, first = await _sign_in(plan), await plan.first()
    page = await _read(clerk, f"/debits/{first.collection_id}")
    for text in ("GoCardless", await plan.payment_id(), "at the provider"):
        assert text in page
    assert "End-to-end id" not in page
    assert "Hold back debit" not in page
    assert first.state is CollectionState.DELIVERED
    await plan.act("submit", "settle")
    page = await _read(clerk, f"/debits/{first.collection_id}")
    assert ">collected<" in page
    assert "/payments/" in page
    await plan.act("bounce")
    assert "failed or returned" in await _read(clerk, f"/debits/{first.collection_id}")


async def test_a_mandate_is_shown_at_its_claim_and_plan_and_revoked(plan: ProviderPlan) -> None:
    clerk, path = await _sign_in(plan), await _get_mandate_path(plan)
    claim_id, plan_id = plan.arrangement.claim_id, plan.modality.modality_id
    for other in ("/mandates", f"/claims/{claim_id}", f"/claims/{claim_id}/plans/{plan_id}"):
        page = await _read(clerk, other)
        assert path in page
        assert "GoCardless" in page
    assert page.count("/debits/") == 3
    assert "at the provider" in page
    page = await _read(clerk, path)
    [row] = await plan.arrangement.harness.rows(
        "SELECT provider_mandate_id FROM provider_mandates WHERE merchant_id = $1"
    )
    for text in (
        row["provider_mandate_id"],
        "SPARKASSE KOELN •••• 11",
        "on the page of GoCardless",
    ):
        assert text in page
    assert "Creditor identifier" not in page
    done = await clerk.follow(await clerk.send(path))
    assert "It is also cancelled at GoCardless." in " ".join(done.text.split())
    await plan.run()
    await plan.check_mandates(timedelta(0))
    cancelled = [each["path"] for each in plan.fake.take_requests()]
    assert any(each.endswith("/actions/cancel") for each in cancelled)
    page = await _read(clerk, path)
    assert page.count("the mandate has ended") == 3
    assert "Revoke mandate" not in page


async def test_an_auditor_sees_the_mandate_but_cannot_revoke_it(plan: ProviderPlan) -> None:
    auditor, path = await _sign_in(plan, Role.AUDITOR), await _get_mandate_path(plan)
    page = await _read(auditor, path)
    assert "GoCardless" in page
    assert "Revoke mandate" not in page
    [token, *_] = re.findall(r'name="token" value="([^"]+)"', page)
    refused = await auditor.post(path, {"token": token})
    assert refused.status_code in (403, 404)
    [mandate] = await plan.mandates()
    assert mandate.ended_reason is None
