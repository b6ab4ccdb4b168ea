"""The Python receiver of the webhook guide does what the guide says."""

import sys
from pathlib import Path

from dunwell.platform.resources import Resources
from tests.support.shown_receiver import check_shown_receiver


async def test_the_documented_python_receiver_processes_each_event_once_and_refuses_forgeries(
    resources: Resources, tmp_path: Path, unused_tcp_port: int
) -> None:
    program = tmp_path / "receiver.py"
    await check_shown_receiver(resources, "python", program, [sys.executable], unused_tcp_port)
