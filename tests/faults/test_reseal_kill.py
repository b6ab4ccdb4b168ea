"""A worker is killed with SIGKILL while it encrypts secrets again: every secret can be decrypted,
and the next worker continues."""

import asyncio
import os
import random
import subprocess
import sys
import time

import pytest

from dunwell.core.events.webhooks.endpoint_secrets import open_secret
from dunwell.platform.resources import Resources
from tests.faults.installation import ROUNDS
from tests.support.keys import count_sealed, reseal_table, with_versions
from tests.support.webhooks import Outbox, an_outbox

ENDPOINTS = 1000


async def add_endpoints(outbox: Outbox) -> None:
    for number in range(ENDPOINTS):
        await outbox.add_endpoint(f"https://example.org/{number}")


async def check_all_open(resources: Resources) -> None:
    async with resources.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT merchant_id, endpoint_id, secret_sealed FROM webhook_endpoints"
        )
    assert len(rows) == ENDPOINTS
    for merchant_id, endpoint_id, sealed in rows:
        assert open_secret(resources.keys, merchant_id, endpoint_id, sealed).startswith("whsec_")


@pytest.mark.parametrize("round_", ROUNDS)
async def test_secrets_can_be_decrypted_after_a_kill_and_their_encryption_continues(
    resources: Resources, round_: int
) -> None:
    await add_endpoints(await an_outbox(resources))
    rotated = with_versions(resources, 2, 1)
    await asyncio.to_thread(_die_half_way, resources, random.Random(round_))
    await check_all_open(rotated)
    await reseal_table(rotated, "webhook_endpoints")
    await check_all_open(with_versions(resources, 2))
    async with resources.database.connection() as connection:
        assert await count_sealed(connection, "webhook_endpoints") == {2: ENDPOINTS}


def _die_half_way(resources: Resources, rng: random.Random) -> None:
    environment = {
        **os.environ,
        "DUNWELL_DATA_DIR": str(resources.settings.data_dir),
        "DUNWELL_DATABASE_URL": str(resources.settings.database_url),
    }
    command = [sys.executable, "-m", "tests.support.reseal_process"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "part\n"
        time.sleep(rng.random() * 0.05)
        process.kill()
