"""A worker is killed with SIGKILL while it commits a notification to a debtor: the debtor is
notified once."""

import asyncio
import signal
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.faults.installation import ROUNDS
from tests.support.commit_gate import CrashPoint, a_commit_gate
from tests.support.definitions import a_definition
from tests.support.harness import a_harness
from tests.support.notice_sending import send_due_notices
from tests.support.processes import a_process


@pytest.mark.parametrize("_round", ROUNDS)
@pytest.mark.parametrize("point", CrashPoint)
async def test_a_notification_is_sent_once_if_the_worker_is_killed_at_its_commit(
    resources: Resources, postgres: EmbeddedPostgres, point: CrashPoint, _round: int
) -> None:
    clock = MovableClock(datetime.now(UTC))
    harness = await a_harness(replace(resources, clock=clock), clock, a_definition())
    [claim_id] = await harness.create()
    await harness.pay(claim_id, 100)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        async with a_commit_gate(postgres, Path(folder), point, b"INTO debtor_notices") as gate:
            through = replace(resources.settings, database_url=gate.url)
            with a_process(through, "tests.support.occasions_process") as process:
                gate.crash = process.kill
                await asyncio.to_thread(process.join, 30)
                assert process.exitcode == -signal.SIGKILL
            assert gate.is_shut
    notices = "SELECT FROM debtor_notices WHERE merchant_id = $1"
    assert len(await harness.rows(notices)) == int(point is CrashPoint.AFTER)

    clock.move_to(datetime.now(UTC))
    await send_due_notices(harness)
    await send_due_notices(harness)

    assert len(await harness.rows(notices)) == len(harness.channels[0].sent) == 1
