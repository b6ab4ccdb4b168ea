"""Programs over generated clients hand claims over to a running Dunwell; `make clients` generates
them first.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from dunwell.kit.clock import MovableClock
from dunwell.kit.resources import Resources
from tests.support.api import an_api
from tests.support.api_server import a_server

CLIENTS = Path(__file__).parents[2] / "var" / "clients"
PROGRAMS = {
    "openapi-typescript": ["node", "built/hand_over.js"],
    "openapi-python-client": [sys.executable, "hand_over.py"],
    "datamodel-code-generator": [sys.executable, "hand_over_models.py"],
}


def run_program(program: list[str], *arguments: str) -> str:
    """What it writes, its errors too."""
    done = subprocess.run(
        [*program, *arguments],
        cwd=CLIENTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("generator", PROGRAMS)
async def test_a_generated_client_hands_a_claim_over_and_reads_what_is_answered(
    resources: Resources, clock: MovableClock, generator: str
) -> None:
    async with an_api(resources, clock) as api, a_server(api.app) as origin:
        await api.nordwind.create("INV-1001")
        await api.house.run()
        who = api.nordwind.credential

        written = await asyncio.to_thread(
            run_program,
            PROGRAMS[generator],
            f"{origin}/api",
            str(api.nordwind.merchant_id),
            who.client_id,
            who.client_secret,
        )

        assert written.splitlines() == [
            "CLIENT-1 created",
            "CLIENT-2 WRONG_FORMAT",
            "ESCALATED First reminder: EMAIL",
            "NotFound",
        ]
        assert await api.count("claims") == 2
