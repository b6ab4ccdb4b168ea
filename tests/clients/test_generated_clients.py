"""Programs with generated clients submit claims to a running Dunwell. `make clients` generates the
clients first."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import an_api
from tests.support.api_server import a_server
from tests.support.logged_endpoint import an_endpoint

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "var" / "clients"
# The classes of the program and the client, and the libraries with which `make clients` compiles.
_GENERATOR = next(
    (ROOT / ".venv").glob("lib/python3*/site-packages/openapi_generator_cli/*.jar"), None
)
_LIBRARIES = [
    f"/usr/share/java/{name}.jar"
    for name in ("httpclient", "httpmime", "httpcore", "jakarta-annotation-api")
]
_CLASS_PATH = ":".join(["classes", str(_GENERATOR), *_LIBRARIES])
# These programs submit claims, read an error and distinguish events.
SHORT_PROGRAMS = {
    "openapi-typescript": ["node", "built/hand_over.js"],
    "openapi-python-client": [sys.executable, "hand_over.py"],
    "datamodel-code-generator": [sys.executable, "hand_over_models.py"],
}
# These programs also read, change and assign the claim, replay events and find endpoints.
LONG_PROGRAMS = {
    "openapi-generator for Java": [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        _CLASS_PATH,
        "HandOver",
    ],
    "openapi-generator for Python": [sys.executable, "hand_over_generated.py"],
    "openapi-generator for TypeScript": ["node", "built/hand_over_fetch.js"],
    "hey-api": ["node", "built/hand_over_hey.js"],
}
ENDPOINT = "http://127.0.0.1:8099/webhooks"


def run_program(program: list[str], *arguments: str) -> str:
    """Run the program and return its output, including errors."""
    done = subprocess.run(
        [*program, *arguments],
        cwd=CLIENTS,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": "python"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


async def run_against_dunwell(
    resources: Resources, clock: MovableClock, program: list[str]
) -> list[str]:
    """Run the program against a Dunwell with one contacted claim, and return the lines that it
    prints."""
    async with an_api(resources, clock) as api, a_server(api.app) as origin:
        await api.nordwind.create("INV-1001")
        await api.harness.run()
        # The endpoint was added after the event, so a replay makes one delivery due.
        await an_endpoint(api.harness, ENDPOINT)
        who = api.nordwind.credential
        written = await asyncio.to_thread(
            run_program,
            program,
            f"{origin}/api",
            str(api.nordwind.merchant_id),
            who.client_id,
            who.client_secret,
        )
        assert await api.count("claims") == 2, written[-3000:]
        print(written)
        return written.splitlines()


@pytest.mark.parametrize("generator", SHORT_PROGRAMS)
async def test_a_generated_client_submits_claims_and_reads_errors_and_events(
    resources: Resources, clock: MovableClock, generator: str
) -> None:
    assert await run_against_dunwell(resources, clock, SHORT_PROGRAMS[generator]) == [
        "CLIENT-1 created",
        "CLIENT-2 WRONG_FORMAT",
        "ESCALATED First reminder: EMAIL",
        "NotFound",
    ]


@pytest.mark.parametrize("generator", LONG_PROGRAMS)
async def test_a_generated_client_can_work_with_claims_events_and_endpoints(
    resources: Resources, clock: MovableClock, generator: str
) -> None:
    assert await run_against_dunwell(resources, clock, LONG_PROGRAMS[generator]) == [
        "CLIENT-1 created",
        "CLIENT-2 WRONG_ORDER",
        "CLIENT-1 CREATED PRIMARY 4990",
        "erika.mustermann@example.org",
        "ESCALATED First reminder: EMAIL",
        "replayed 1",
        f"WORKING null {ENDPOINT}",
        "assigned true",
        "404",
    ]
