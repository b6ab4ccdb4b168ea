"""The pages of direct debits show what GoCardless collects."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.run_exports import run_exports
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.portal.test_timeline import read_timeline
from tests.support.application import an_application
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.portal import Clerk, sign_in
from tests.support.provider_plans import (
    ACCOUNT,
    ProviderPlan,
    a_provider_plan,
    open_gocardless,
)

# As if the bank collected with the mandate.
_TO_BANK = """
UPDATE mandates
SET provider = NULL, provider_name = NULL, account_sealed = ''
WHERE merchant_id = $1
"""


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


@pytest.mark.parametrize("path", ["/debits?show=all&", "/mandates?"])
async def test_lists_are_filtered_by_who_collects(plan: ProviderPlan, path: str) -> None:
    """An account can have any name, also "BANK" for another one than the bank."""
    clerk = await _sign_in(plan)
    [shown] = re.findall(r'<select id="by".*?</select>', await _read(clerk, path))
    assert re.findall('value="([^"]*)"', shown) == ["", "BANK", f"@{ACCOUNT}"]
    for by, is_found in ((f"@{ACCOUNT}", True), ("BANK", False), ("@other", False), ("x", True)):
        page = await _read(clerk, f"{path}by={by}")
        assert bool(re.search(r"/claims/\d+/mandates/", page)) is is_found, by
        assert ("No entries." in page) is not is_found, by
    assert 'value="@other" selected' in await _read(clerk, f"{path}by=@other")
    assert "No entries." in await _read(clerk, f"/debits?show=all&by=@{ACCOUNT}&state=RETURNED")


@pytest.mark.parametrize(
    ("path", "exported", "wanted"),
    [
        (
            f"/debits?show=all&state=DELIVERED&by=@{ACCOUNT}&since=2026-03-01", "collections",
            {"state": "DELIVERED", "account": ACCOUNT, "collected_from": "2026-03-01"},
        ),
        ("/mandates?state=ACTIVE&by=BANK", "mandates", {"state": "ACTIVE", "by_bank": True}),
    ],
)  # fmt: skip
async def test_the_shown_list_is_exported_as_csv(
    plan: ProviderPlan, path: str, exported: str, wanted: dict[str, object]
) -> None:
    harness = plan.arrangement.harness
    if "BANK" in path:
        await harness.rows(_TO_BANK)
    clerk = await _sign_in(plan)
    await clerk.get(path)
    address = f"{path.partition('?')[0]}/export"
    page = await clerk.follow(await clerk.send(address))
    assert "CSV export" in page.text
    [job] = await harness.rows("SELECT parameters FROM jobs WHERE merchant_id = $1")
    assert (job["parameters"]["list"], job["parameters"]["wanted"]) == (exported, wanted)
    storage = SealedFiles.open(plan.resources)
    assert await run_exports(plan.resources, storage) == 1
    assert (await clerk.get(address)).status_code == 303


async def test_the_timeline_of_the_claim_shows_the_mandate_and_its_debits(
    plan: ProviderPlan,
) -> None:
    clerk, path = await _sign_in(plan), f"/claims/{plan.arrangement.claim_id}"
    entries = read_timeline((await clerk.get(path)).text)
    assert any(each.startswith("Direct debit mandate given") for each in entries)
    ordered = [each for each in entries if "for instalment" in each]
    assert ordered == ["Direct debit of €34.14 for instalment 1 ordered from GoCardless"]
    # The debit is not listed as a payment that the debtor has started.
    assert not any(each.endswith("COLLECTING") for each in entries)
    await plan.act("submit", "settle", "bounce")
    entries = read_timeline((await clerk.get(f"{path}?show=money")).text)
    assert any(each.startswith("Direct debit of €34.14 failed or returned") for each in entries)
