"""Cases in which the provider's page for a mandate is not opened."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.contact.escalation.end_claim import archive_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.provider_plans import a_provider_plan, open_gocardless

_OPENED = "SELECT mandate_id FROM provider_mandates WHERE merchant_id = $1"


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        yield process


@pytest.fixture
async def provider(fake: FakeProviderProcess) -> AsyncIterator[GoCardlessProvider]:
    async with open_gocardless(fake) as provider:
        yield provider


@pytest.mark.parametrize(
    ("sandbox", "moves_money", "profile", "state"),
    [
        (True, True, "production", "SANDBOX"), (False, False, "production", "LIVE"),
        (True, False, "production", None), (False, True, "production", None),
        (False, False, "development", None),
    ],
)  # fmt: skip
async def test_in_production_only_sandboxes_give_mandates_at_test_accounts(
    resources: Resources, clock: MovableClock, fake: FakeProviderProcess,
    provider: GoCardlessProvider, monkeypatch: pytest.MonkeyPatch, *, sandbox: bool,
    moves_money: bool, profile: str, state: str | None,
) -> None:  # fmt: skip
    own = replace(resources, settings=replace(resources.settings, profile=profile))
    plan = await a_provider_plan(own, clock, fake, provider, sandbox=sandbox)
    monkeypatch.setattr(provider, "moves_money", moves_money)
    if state is None:
        assert await plan.open_page()
        return
    with pytest.raises(InvalidState) as refusal:
        await plan.open_page()
    assert refusal.value.details["state"] == state
    assert await plan.arrangement.harness.rows(_OPENED) == []


async def test_no_mandate_is_asked_for_after_the_end_of_the_claim(
    resources: Resources, clock: MovableClock, fake: FakeProviderProcess,
    provider: GoCardlessProvider,
) -> None:  # fmt: skip
    plan = await a_provider_plan(resources, clock, fake, provider)
    async with plan.arrangement.harness.work() as work:
        await archive_claim(work, plan.arrangement.claim_id)
    with pytest.raises(InvalidState) as refusal:
        await plan.open_page()
    assert refusal.value.details["state"] == "CHANGED"
    assert await plan.arrangement.harness.rows(_OPENED) == []
