"""Workers are repeatedly killed with SIGKILL while they send through a real Kannel, and what
arrived at the SMS centre is compared with the ledger. Nothing is sent twice and nothing is lost;
unclear outcomes are recorded as unknown."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.accounts.installation.installation_file import Installation
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.servers.kannel import a_kannel
from tests.servers.sms_world import NAME, SECRETS, a_provider, a_sending_harness
from tests.support.harness import Harness, ScriptedDeliveryProvider
from tests.support.processes import a_process

_KILLS = 50
_CLAIMS_EACH = 8
# Limits the number of messages with an unclear outcome that one worker can leave.
_PACE = ProviderPace(at_once=3)
_STATES = """
SELECT state, count(*) FROM communications WHERE merchant_id = $1 AND channel = 'SMS' GROUP BY 1
"""
_ACCEPTED = """
SELECT d.mobile_number FROM communications c JOIN debtors d USING (merchant_id, claim_id)
WHERE c.merchant_id = $1 AND c.channel = 'SMS' AND c.state = ANY($2::text[])
"""


async def _create(harness: Harness, first: int) -> None:
    for number in range(first, first + _CLAIMS_EACH):
        await harness.create(
            f"R-{number}", email=f"d{number}@example.org", mobileNumber=f"+49151{number:08d}"
        )


async def _count(harness: Harness) -> Counter[str]:
    return Counter({row["state"]: row["count"] for row in await harness.rows(_STATES)})


async def _numbers(harness: Harness, *states: str) -> set[str]:
    rows = await harness.rows(_ACCEPTED, list(states))
    return {row["mobile_number"].lstrip("+") for row in rows}


async def test_arrived_sms_match_the_ledger_after_fifty_kills(
    resources: Resources, tmp_path: Path
) -> None:
    real = replace(resources, clock=MovableClock(datetime.now(UTC)))
    rng = random.Random(19)
    async with a_kannel(tmp_path) as kannel:
        provider = a_provider(kannel.address, pace=_PACE)
        await apply_installation(real, Installation(delivery_providers={NAME: provider}), SECRETS)
        harness = await a_sending_harness(real, real.clock, ScriptedDeliveryProvider(name=NAME))  # type: ignore[arg-type]
        for kill in range(_KILLS):
            await _create(harness, kill * _CLAIMS_EACH)
            await _kill_amid(harness, kannel.centre.submitted, rng)
        # Messages of the killed workers are taken over once their leases have expired.
        with a_process(real.settings, "tests.servers.sms_worker", "60"):
            async with asyncio.timeout(60):
                while (await _count(harness)).keys() - {"ACCEPTED", "UNKNOWN"}:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
        accepted, unknown = await _numbers(harness, "ACCEPTED"), await _numbers(harness, "UNKNOWN")
        await kannel.wait_until_empty()
        arrived = Counter(each.destination for each in kannel.centre.accepted)
    assert [number for number, count in arrived.items() if count > 1] == []
    assert accepted - arrived.keys() == set()
    assert arrived.keys() - accepted - unknown == set()
    assert len(accepted) + len(unknown) == _KILLS * _CLAIMS_EACH
    assert len(unknown) <= _KILLS * _PACE.at_once
    print(f"accepted {len(accepted)}, unknown {len(unknown)}, arrived {sum(arrived.values())}")


async def _kill_amid(harness: Harness, submitted: Sequence[object], rng: random.Random) -> None:
    """Kill the worker shortly after its messages have begun to arrive."""
    before = len(submitted)
    with a_process(harness.resources.settings, "tests.servers.sms_worker", "0") as process:
        async with asyncio.timeout(60):
            while len(submitted) == before:  # noqa: ASYNC110 - no event signals this
                await asyncio.sleep(0.001)
        await asyncio.sleep(rng.random() * 0.03)
        process.kill()
        await asyncio.to_thread(process.join, 10)
