"""Credentials with two web processes: both refuse a revoked credential or token at once."""

import math
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import httpx
import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.credentials.credentials import (
    allow_credential,
    create_credential,
    disallow_credential,
    end_old_secret,
    revoke_credential,
    rotate_credential,
)
from dunwell.accounts.merchants.credentials.tokens import (
    CREDENTIAL_RANDOM_BYTES,
    SECRET_RANDOM_BYTES,
    NewCredential,
    revoke_token,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources
from tests.support.harness import Harness, a_harness
from tests.support.web_processes import Web


@dataclass(frozen=True)
class TwoProcesses:
    """Two merchants and the two processes that serve them, with the real clock."""

    webs: Sequence[Web]
    nordwind: Harness
    hansen: Harness

    @asynccontextmanager
    async def work(self, harness: Harness | None = None) -> AsyncIterator[Work]:
        async with (harness or self.nordwind).work(COMMAND_LINE) as work:
            yield replace(work, real_now=datetime.now(UTC))

    async def create(self, name: str = "erp", per_minute: int = 600) -> NewCredential:
        async with self.work() as work:
            return await create_credential(
                work, name,
                randomness=secrets.token_bytes(CREDENTIAL_RANDOM_BYTES),
                requests_per_minute=per_minute,
            )  # fmt: skip

    def ask(self, token: str, harness: Harness | None = None) -> list[int]:
        """Return each process's status for a request of one of the merchants."""
        path = f"/merchants/{(harness or self.nordwind).merchant.merchant_id}/events"
        return [web.call("GET", path, token).status_code for web in self.webs]

    def obtain(self, credential: NewCredential) -> list[int]:
        return [web.obtain_token(credential).status_code for web in self.webs]


@pytest.fixture
async def processes(webs: Sequence[Web], resources: Resources, clock: MovableClock) -> TwoProcesses:
    harnesses = [await a_harness(resources, clock, key=key) for key in ("nordwind", "hansen")]
    return TwoProcesses(webs, *harnesses)


async def test_a_revoked_credential_and_its_tokens_are_refused_by_both_processes_at_once(
    processes: TwoProcesses,
) -> None:
    credential, other = await processes.create(), await processes.create("shop")
    token, kept = processes.webs[0].token_of(credential), processes.webs[0].token_of(other)
    assert processes.ask(token) == [200, 200]

    async with processes.work() as work:
        await revoke_credential(work, credential.client_id)

    assert processes.ask(token) == [401, 401]
    assert processes.obtain(credential) == [401, 401]
    assert processes.ask(kept) == [200, 200]
    assert processes.obtain(other) == [200, 200]


async def test_a_revoked_token_is_refused_by_both_processes_and_its_credential_stays_valid(
    processes: TwoProcesses,
) -> None:
    credential = await processes.create()
    token, kept = (web.token_of(credential) for web in processes.webs)
    assert processes.ask(token) == [200, 200]

    async with processes.work() as work:
        assert await revoke_token(work, token) == credential.client_id

    assert processes.ask(token) == [401, 401]
    assert processes.ask(kept) == [200, 200]
    for harness, given in ((processes.nordwind, token), (processes.hansen, kept)):
        with pytest.raises(NotFound):
            async with processes.work(harness) as work:
                await revoke_token(work, given)
    assert processes.ask(kept) == [200, 200]


async def test_both_secrets_are_valid_during_a_rotation_until_the_old_one_is_ended(
    processes: TwoProcesses,
) -> None:
    old = await processes.create()
    async with processes.work() as work:
        randomness = secrets.token_bytes(SECRET_RANDOM_BYTES)
        new = await rotate_credential(work, old.client_id, randomness=randomness)
    assert (processes.obtain(old), processes.obtain(new)) == ([200, 200], [200, 200])

    async with processes.work() as work:
        await end_old_secret(work, old.client_id)

    assert (processes.obtain(old), processes.obtain(new)) == ([401, 401], [200, 200])
    with pytest.raises(NotFound):
        async with processes.work() as work:
            await end_old_secret(work, old.client_id)
    assert processes.obtain(new) == [200, 200]


async def test_a_shared_credential_gives_access_to_another_merchant_while_it_is_allowed(
    processes: TwoProcesses,
) -> None:
    credential = await processes.create()
    token = processes.webs[0].token_of(credential)
    assert processes.ask(token, processes.hansen) == [404, 404]

    async with processes.work(processes.hansen) as work:
        assert await allow_credential(work, credential.client_id)
    assert processes.ask(token, processes.hansen) == [200, 200]

    async with processes.work(processes.hansen) as work:
        assert await disallow_credential(work, credential.client_id)
        assert not await disallow_credential(work, credential.client_id)
    assert processes.ask(token, processes.hansen) == [404, 404]
    assert processes.ask(token) == [200, 200]


async def test_a_credential_keeps_access_to_its_own_merchant(processes: TwoProcesses) -> None:
    credential = await processes.create()
    token = processes.webs[0].token_of(credential)

    with pytest.raises(InvalidState):
        async with processes.work() as work:
            await disallow_credential(work, credential.client_id)

    assert processes.ask(token) == [200, 200]


async def test_a_rate_limit_applies_to_one_credential_across_processes_and_merchants(
    processes: TwoProcesses,
) -> None:
    small, large = await processes.create("small", per_minute=8), await processes.create("large")
    async with processes.work(processes.hansen) as work:
        await allow_credential(work, small.client_id)
    spent, free = processes.webs[0].token_of(small), processes.webs[0].token_of(large)

    answers, refused = _spend_within_a_minute(processes, spent)

    assert answers == [200] * 8 + [429] * 4
    assert refused.json()["error"]["type"] == "RateLimited"
    assert "8 requests a minute" in refused.json()["error"]["message"]
    assert abs(int(refused.headers["Retry-After"]) - _seconds_left()) <= 2
    assert processes.ask(free) == [200, 200]


def _spend_within_a_minute(processes: TwoProcesses, token: str) -> tuple[list[int], httpx.Response]:
    """Return twelve statuses and a further response, all from one minute of the clock."""
    while True:
        minute = time.time() // 60
        answers = [
            status
            for harness in (processes.nordwind, processes.hansen) * 3
            for status in processes.ask(token, harness)
        ]
        path = f"/merchants/{processes.nordwind.merchant.merchant_id}/events"
        refused = processes.webs[1].call("GET", path, token)
        if time.time() // 60 == minute:
            return answers, refused


def _seconds_left() -> int:
    return 60 - math.floor(time.time() % 60)
