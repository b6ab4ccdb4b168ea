"""Jobs: a fixed selection, each claim done once, cancelled between claims, retried."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.accounts.merchants.actor import (
    Interface,
    Origin,
    build_operator_actor,
    build_user_actor,
)
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Role
from dunwell.accounts.users.manage_users import deactivate_user
from dunwell.accounts.users.user import UserRoles
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind, Status
from dunwell.operations.jobs import claim_jobs as running
from dunwell.operations.jobs import runner
from dunwell.operations.jobs.claim_jobs import act_on_claims, run_jobs
from dunwell.operations.jobs.job import (
    Action,
    ArchiveAction,
    Assign,
    BackgroundJob,
    JobState,
    Pause,
    Progress,
    Resume,
    RowOutcome,
    RowReason,
)
from dunwell.operations.jobs.jobs import (
    DryRun,
    JobFilter,
    JobView,
    cancel_job,
    get_job,
    list_job_rows,
    list_jobs,
    preview_job,
    retry_failed,
    start_job,
)
from dunwell.operations.jobs.store import LeasedJob, lock_leased
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import ERP, Harness, a_harness
from tests.support.users import OPERATOR, a_new_user, build_sign_in_services, invite

STARTER = build_operator_actor("a test")
HOLDS = "SELECT claim_id FROM holds WHERE merchant_id = $1 AND kind = 'PAUSE' ORDER BY claim_id"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def start(harness: Harness, action: Action, claim_ids: Sequence[int]) -> BackgroundJob:
    async with harness.work(STARTER) as work:
        return await start_job(work, action, claim_ids)


async def dry_run(harness: Harness, action: Action, claim_ids: Sequence[int]) -> DryRun:
    async with harness.work(STARTER) as work:
        return await preview_job(work, action, claim_ids)


async def load_view(harness: Harness, job_id: UUID) -> JobView:
    async with harness.work(STARTER) as work:
        return await get_job(work, job_id)


async def run(harness: Harness, batch: int = 2) -> None:
    while await run_jobs(harness.resources, batch=batch):
        pass


async def create_mixed_claims(harness: Harness) -> list[int]:
    """Create a claim in process, a disputed and an ended one; return them with an unknown id."""
    [running_, disputed, ended] = await harness.create("A-1", "A-2", "A-3")
    async with harness.work(STARTER) as work:
        await open_hold(work, disputed, HoldKind.DISPUTE)
        await withdraw_claim(work, ended)
    return [running_, disputed, ended, 999_999]


@pytest.mark.parametrize(
    ("action", "done", "skipped"),
    [
        (Pause(), 1, {RowReason.DISPUTED: 1, RowReason.ENDED: 1, RowReason.ABSENT: 1}),
        (ArchiveAction(), 1, {RowReason.DISPUTED: 1, RowReason.ENDED: 1, RowReason.ABSENT: 1}),
        (Resume(), 0, {RowReason.UNCHANGED: 3, RowReason.ABSENT: 1}),
    ],
    ids=["pause", "archive", "resume"],
)
async def test_the_dry_run_predicts_the_result_of_the_job(
    harness: Harness, action: Action, done: int, skipped: dict[RowReason, int]
) -> None:
    claim_ids = await create_mixed_claims(harness)
    predicted = await dry_run(harness, action, claim_ids)
    assert predicted == DryRun(Progress(4, done, 4 - done), skipped)
    assert await harness.rows(HOLDS) == []

    job = await start(harness, action, claim_ids)
    await run(harness)
    view = await load_view(harness, job.job_id)
    assert view.job.progress == predicted.progress
    assert view.job.state is JobState.DONE
    assert view.reasons == {(RowOutcome.SKIPPED, each): n for each, n in skipped.items()}


async def test_a_job_assigns_claims_and_skips_another_currency(harness: Harness) -> None:
    other = await harness.publish(a_definition(), "Other")
    [own] = await harness.create("A-1")
    [dollars] = await harness.create("A-2", currency="USD", email="d@example.org")
    [there] = await harness.create("A-3", email="e@example.org")
    await harness.rows(
        "UPDATE claims SET workflow_id = (SELECT workflow_id FROM workflows"
        " WHERE merchant_id = $1 AND name = 'Standard')"
        " WHERE merchant_id = $1 AND claim_id = $2 RETURNING claim_id", own
    )  # fmt: skip
    action, claims = Assign(other.workflow_id), [own, dollars, there]
    skipped = {RowReason.OTHER_CURRENCY: 1, RowReason.UNCHANGED: 1}
    assert (await dry_run(harness, action, claims)).skipped == skipped
    job = await start(harness, action, claims)
    await run(harness)
    assert (await load_view(harness, job.job_id)).job.progress == Progress(3, 1, 2)
    with pytest.raises(NotFound):
        await start(harness, Assign(UUID(int=1)), claims)


async def test_a_finished_job_has_an_outcome_for_each_row(harness: Harness) -> None:
    claim_ids = await create_mixed_claims(harness)
    job = await start(harness, Pause(reason="In talks"), claim_ids)
    await run(harness)
    async with harness.work(STARTER) as work:
        rows = await list_job_rows(work, job.job_id, limit=10)
        skipped = await list_job_rows(
            work, job.job_id, outcome=RowOutcome.SKIPPED, after=2, limit=1
        )
        [found] = (await list_jobs(work, limit=10)).items
        nothing = await list_jobs(work, limit=10, wanted=JobFilter(is_live=True))
    assert [(each.claim_id, each.outcome, each.reason) for each in rows] == [
        (claim_ids[0], RowOutcome.DONE, None),
        (claim_ids[1], RowOutcome.SKIPPED, RowReason.DISPUTED),
        (claim_ids[2], RowOutcome.SKIPPED, RowReason.ENDED),
        (claim_ids[3], RowOutcome.SKIPPED, RowReason.ABSENT),
    ]
    assert [each.claim_id for each in skipped] == [claim_ids[2]]
    assert found == (await load_view(harness, job.job_id)).job
    assert nothing.items == []


async def test_a_worker_that_dies_between_batches_leaves_the_rest_to_the_next(
    harness: Harness, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_ids = await harness.create(*(f"A-{n}" for n in range(6)))
    job = await start(harness, Pause(), claim_ids)
    monkeypatch.setattr(running, "list_waiting_rows", _dies_after(2))
    with pytest.raises(_Killed):
        await run_jobs(harness.resources, batch=2)
    monkeypatch.undo()
    assert (await load_view(harness, job.job_id)).job.progress == Progress(6, 4)
    # Its lease is still valid.
    assert await run_jobs(harness.resources) == 0
    clock.advance(LEASE)
    await run(harness)
    assert (await load_view(harness, job.job_id)).job.progress == Progress(6, 6)
    assert [row["claim_id"] for row in await harness.rows(HOLDS)] == claim_ids


async def test_a_worker_that_dies_inside_a_batch_leaves_nothing_of_it(
    harness: Harness, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_ids = await harness.create(*(f"A-{n}" for n in range(4)))
    job = await start(harness, Pause(), claim_ids)
    monkeypatch.setattr(running, "save_outcomes", _dies_after(1))
    with pytest.raises(_Killed):
        await run_jobs(harness.resources, batch=2)
    monkeypatch.undo()
    assert len(await harness.rows(HOLDS)) == 2
    clock.advance(LEASE)
    await run(harness)
    assert [row["claim_id"] for row in await harness.rows(HOLDS)] == claim_ids
    assert (await load_view(harness, job.job_id)).job.progress == Progress(4, 4)


async def test_a_cancelled_job_leaves_no_claim_half_done(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_ids = await harness.create(*(f"A-{n}" for n in range(6)))
    job = await start(harness, Pause(), claim_ids)
    batches = 0
    original = lock_leased

    async def lock(tx: Connection, taken: LeasedJob) -> BackgroundJob | None:
        nonlocal batches
        batches += 1
        if batches == 3:
            async with harness.work(STARTER) as work:
                await cancel_job(work, job.job_id)
        return await original(tx, taken)

    monkeypatch.setattr(runner, "lock_leased", lock)
    await run_jobs(harness.resources, batch=2)
    monkeypatch.undo()
    await run(harness)
    view = await load_view(harness, job.job_id)
    assert (view.job.state, view.job.progress) == (JobState.CANCELLED, Progress(6, 4))
    assert [row["claim_id"] for row in await harness.rows(HOLDS)] == claim_ids[:4]
    async with harness.work(STARTER) as work:
        assert (await cancel_job(work, job.job_id)).state is JobState.CANCELLED


async def test_a_finished_job_cannot_be_cancelled(harness: Harness) -> None:
    job = await start(harness, Pause(), await harness.create())
    await run(harness)
    async with harness.work(STARTER) as work:
        with pytest.raises(InvalidState):
            await cancel_job(work, job.job_id)
    assert (await load_view(harness, job.job_id)).job.state is JobState.DONE


async def test_rows_that_failed_for_a_revoked_right_can_be_retried(
    harness: Harness,
) -> None:
    claim_ids = await harness.create("A-1", "A-2")
    place = UserRoles(None, {harness.merchant.merchant_id: Role.MERCHANT_USER})
    services = build_sign_in_services(harness.resources)
    user_id = (await invite(services, a_new_user(roles=place))).user_id
    rights = ROLE_RIGHTS[Role.MERCHANT_USER]
    async with harness.work(
        build_user_actor(str(user_id), rights, Origin(Interface.PORTAL))
    ) as work:
        job = await start_job(work, Pause(), claim_ids)
    async with services.work(OPERATOR) as people:
        await deactivate_user(people, user_id)
    await run(harness)
    view = await load_view(harness, job.job_id)
    assert view.job.progress == Progress(2, failed=2)
    assert view.reasons == {(RowOutcome.FAILED, RowReason.RIGHT_LOST): 2}
    assert await harness.rows(HOLDS) == []

    async with harness.work(STARTER) as work:
        again = await retry_failed(work, job.job_id)
    assert (again.retry_of, again.progress) == (job.job_id, Progress(2))
    await run(harness)
    assert (await load_view(harness, again.job_id)).job.progress == Progress(2, 2)
    async with harness.work(STARTER) as work:
        with pytest.raises(InvalidState):
            await retry_failed(work, again.job_id)


async def test_a_job_of_a_revoked_credential_does_nothing(harness: Harness) -> None:
    claim_ids = await harness.create("A-1", "A-2")
    async with harness.work(ERP) as work:
        job = await start_job(work, ArchiveAction(), claim_ids)
    await run(harness)
    view = await load_view(harness, job.job_id)
    assert view.reasons == {(RowOutcome.FAILED, RowReason.RIGHT_LOST): 2}
    assert (await harness.read(claim_ids[0])).status is Status.CREATED


async def test_a_row_that_always_fails_is_skipped(
    harness: Harness, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_ids = await harness.create(*(f"A-{n}" for n in range(4)))
    job = await start(harness, Pause(), claim_ids)
    real = act_on_claims

    async def stumbles(work: object, action: Action, ids: Sequence[int]) -> object:
        if claim_ids[2] in ids:
            raise _Killed
        return await real(work, action, ids)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "act_on_claims", stumbles)
    for _ in range(20):
        try:
            await run_jobs(harness.resources, batch=2)
        except _Killed:
            clock.advance(LEASE)
    view = await load_view(harness, job.job_id)
    assert (view.job.state, view.job.progress) == (JobState.DONE, Progress(4, 3, 0, 1))
    assert view.reasons == {(RowOutcome.FAILED, RowReason.ERROR): 1}


async def test_a_selection_contains_each_claim_once(harness: Harness, clock: MovableClock) -> None:
    [claim_id] = await harness.create()
    assert (await start(harness, Pause(), [claim_id, claim_id])).progress == Progress(1)
    for selected in (list[int](), range(1, 50_002)):
        with pytest.raises(ValidationError):
            await start(harness, Pause(), selected)
    with pytest.raises(ValidationError):
        await start(harness, Pause(until=clock.now()), [claim_id])


async def test_a_sandbox_merchants_job_acts_at_its_clock(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition(), sandbox=True)
    [claim_id] = await harness.create()
    clock.advance(timedelta(days=30))
    job = await start(harness, ArchiveAction(), [claim_id])
    await run(harness)
    assert (await harness.read(claim_id)).status is Status.ARCHIVED
    [row] = await harness.rows(
        "SELECT c.updated_at, m.sandbox_now AS now FROM claims c JOIN merchants m"
        " USING (merchant_id) WHERE c.merchant_id = $1"
    )
    assert row["updated_at"] == row["now"]
    assert (await load_view(harness, job.job_id)).job.ended_at == clock.now()


async def test_jobs_and_claims_of_another_merchant_are_not_found(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_harness(resources, clock, key="hansen")
    claim_ids = await harness.create("A-1", "A-2")
    job = await start(harness, Pause(), claim_ids)
    for ask in (get_job, cancel_job, retry_failed):
        async with hansen.work(STARTER) as work:
            with pytest.raises(NotFound):
                await ask(work, job.job_id)
    async with hansen.work(STARTER) as work:
        with pytest.raises(NotFound):
            await list_job_rows(work, job.job_id, limit=1)
        assert (await list_jobs(work, limit=10)).items == []
    theirs = await start(hansen, ArchiveAction(), claim_ids)
    await run(hansen)
    assert (await load_view(hansen, theirs.job_id)).reasons == {
        (RowOutcome.SKIPPED, RowReason.ABSENT): 2
    }
    assert (await load_view(harness, job.job_id)).job == replace(
        (await load_view(harness, job.job_id)).job, progress=Progress(2, 2)
    )


class _Killed(Exception):  # noqa: N818 - as a signal would
    """Simulates the death of the process."""


def _dies_after(calls: int) -> object:
    """Return a store function that kills the worker after this number of calls."""
    name = "list_waiting_rows" if calls == 2 else "save_outcomes"
    real, count = getattr(running, name), 0

    async def die(*given: object) -> object:
        nonlocal count
        count += 1
        if count > calls:
            raise _Killed
        return await real(*given)

    return die
