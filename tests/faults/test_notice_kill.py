"""A worker is killed with SIGKILL between handing over a notice and receiving the response: the
notice is still sent, once."""

import asyncio
import signal
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dunwell.adapters.channels.outbox.channel import OutboxEmail
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.notices import a_notice_harness
from tests.support.processes import a_process


def _read(folder: Path) -> dict[str, bytes]:
    """Return the e-mails in the outbox by id."""
    return {path.stem: path.read_bytes() for path in folder.rglob("*.eml")}


async def test_a_code_is_sent_again_with_its_id_after_its_worker_was_killed(
    resources: Resources,
) -> None:
    clock = MovableClock(datetime.now(UTC))
    notice_harness = await a_notice_harness(replace(resources, clock=clock), clock)
    notice_id = await notice_harness.request(recipient="erika+die@example.org")
    with a_process(resources.settings, "tests.support.notice_process") as process:
        await asyncio.to_thread(process.join, 30)
        assert process.exitcode == -signal.SIGKILL
    assert await notice_harness.states() == [("HANDED_OVER", None)]
    folder = resources.settings.data_dir / "outbox"
    written = _read(folder)
    clock.move_to(datetime.now(UTC) + timedelta(seconds=20))
    await notice_harness.run(OutboxEmail(resources.settings.data_dir, is_development=True))
    assert await notice_harness.states() == [("ACCEPTED", None)]
    assert list(written) == [str(notice_id)]
    assert _read(folder) == written
