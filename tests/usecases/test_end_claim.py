"""Withdrawing and archiving a claim by hand ends its workflow and sends no event."""

from collections.abc import Awaitable, Callable

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.contact.escalation.end_claim import archive_claim, withdraw_claim
from dunwell.contact.escalation.engine import Engine
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind, Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

End = tuple[Callable[[Work, int], Awaitable[None]], Status, str]
ENDS: list[End] = [
    (withdraw_claim, Status.WITHDRAWN, "claim.withdraw"),
    (archive_claim, Status.ARCHIVED, "claim.archive"),
]
_AUDITED = "SELECT FROM audit_log WHERE merchant_id = $1 AND action = $2"
_CONTACTS = "SELECT state FROM communications WHERE merchant_id = $1"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def do(
    harness: Harness, use_case: Callable[[Work, int], Awaitable[None]], claim_id: int
) -> None:
    async with harness.work() as work:
        await use_case(work, claim_id)


@pytest.mark.parametrize("end", ENDS, ids=["withdraw", "archive"])
async def test_ending_a_claim_stops_the_workflow_and_sends_no_event(
    harness: Harness, end: End
) -> None:
    use_case, status, action = end
    [claim_id] = await harness.create()
    await Engine(harness.resources).run_once()
    await do(harness, use_case, claim_id)
    claim = await harness.read(claim_id)
    assert (claim.status, claim.next_step_at) == (status, None)
    assert [row["state"] for row in await harness.rows(_CONTACTS)] == ["CANCELLED"]
    assert await harness.events(claim_id) == []
    assert len(await harness.rows(_AUDITED, action)) == 1


@pytest.mark.parametrize("end", ENDS, ids=["withdraw", "archive"])
async def test_the_same_end_again_changes_nothing(
    harness: Harness, clock: MovableClock, end: End
) -> None:
    use_case, _, action = end
    [claim_id] = await harness.create()
    await do(harness, use_case, claim_id)
    before = await harness.read(claim_id)
    clock.move_to(clock.now().replace(hour=12))
    await do(harness, use_case, claim_id)
    assert await harness.read(claim_id) == before
    assert len(await harness.rows(_AUDITED, action)) == 1


@pytest.mark.parametrize("end", ENDS, ids=["withdraw", "archive"])
async def test_a_claim_that_ended_otherwise_is_refused(harness: Harness, end: End) -> None:
    use_case, status, _ = end
    [other] = [each for each in ENDS if each[1] is not status]
    collected, ended = await harness.create("A-1", "A-2")
    await harness.pay(collected, 10240)
    await do(harness, other[0], ended)
    for claim_id in (collected, ended):
        before = await harness.read(claim_id)
        with pytest.raises(InvalidState) as refused:
            await do(harness, use_case, claim_id)
        assert refused.value.details == {"state": str(before.status)}
        assert await harness.read(claim_id) == before


async def test_a_payment_of_a_withdrawn_claim_is_recorded_without_changing_the_state(
    harness: Harness,
) -> None:
    [claim_id] = await harness.create()
    await do(harness, withdraw_claim, claim_id)
    paid = await harness.pay(claim_id, 10300)
    assert (paid.status, paid.balance.outstanding_cents) == (Status.WITHDRAWN, 0)
    assert paid.balance.overpaid_cents == 60


async def test_a_hold_remains_after_the_claim_has_ended(harness: Harness) -> None:
    [claim_id] = await harness.create()
    async with harness.work() as work:
        await open_hold(work, claim_id, HoldKind.DISPUTE)
    await do(harness, withdraw_claim, claim_id)
    claim = await harness.read(claim_id)
    assert [each.kind for each in claim.holds] == [HoldKind.DISPUTE]
    assert claim.status is Status.WITHDRAWN


async def test_a_claim_without_a_workflow_can_be_withdrawn(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    await do(harness, withdraw_claim, claim_id)
    assert (await harness.read(claim_id)).status is Status.WITHDRAWN
