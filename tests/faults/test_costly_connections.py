"""200 connections that each cause the highest cost that they are allowed to: the process answers
other requests within a second, and its memory stays below a limit."""

import asyncio
import itertools
import math
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import httpx
import psutil
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.clock import MovableClock
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.support.api import a_credential
from tests.support.attacks import ATTACKS, AttackedServer, keep_attacking
from tests.support.definitions import a_definition
from tests.support.harness import a_harness
from tests.support.texts import a_texts_harness
from tests.support.users import a_new_user, build_sign_in_services, join
from tests.support.web_processes import Web, a_web

_CONNECTIONS = 200
_LETTER = "/texts/preview?template=reminder&language=de&channel=LETTER"
# The duration of an attack: at least the first number, and until its limit has taken effect or the
# second number has passed.
_LEAST_SECONDS, _MAX_WAITED_SECONDS = 1.0, 30.0
# The figure in docs/promises.md.
_MAX_MIB = 400
_MAX_SECONDS = 1.0


@dataclass
class AttackedProcess:
    web: Web
    target: AttackedServer

    @property
    def peak_mib(self) -> int:
        """The highest memory use of the process since the last reset, in MiB."""
        status = Path(f"/proc/{self.web.process.pid}/status").read_text()
        [line] = [each for each in status.splitlines() if each.startswith("VmHWM")]
        return int(line.split()[1]) // 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.web.process.pid}/clear_refs").write_text("5")


@pytest.fixture(scope="module")
async def attacked_process(
    module_resources: Resources,
    postgres: EmbeddedPostgres,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[AttackedProcess]:
    resources = module_resources
    await apply_installation(resources, check_installation({"trustedProxies": ["127.0.0.1"]}))
    harness = await a_harness(resources, MovableClock(datetime.now(UTC)), a_definition())
    credential = await a_credential(harness, requests_per_minute=100_000)
    preview_path = f"{await a_texts_harness(harness)}{_LETTER}"
    now = replace(resources, clock=MovableClock(datetime.now(UTC)))
    person = await join(build_sign_in_services(now), a_new_user(roles=UserRoles(Role.OPERATOR)))
    with a_web(tmp_path_factory.mktemp("besieged"), postgres.url) as web:
        port = httpx.URL(web.origin).port
        assert port is not None
        token = web.token_of(credential)
        cookie, merchant_id = person.session.secret, harness.merchant.merchant_id
        target = AttackedServer(port, merchant_id, token, cookie, preview_path)
        yield AttackedProcess(web, target)


class Probe:
    """Requests the process's health repeatedly in its own thread, because the loop of the attackers
    is busy."""

    def __init__(self, attacked_process: AttackedProcess) -> None:
        self._attacked = attacked_process
        self._is_over = threading.Event()
        self._process = psutil.Process(attacked_process.web.process.pid)
        # The duration of each response in seconds, infinite after an error. On a busy machine the
        # processor time of the process counts instead, because other programs do not add to it.
        self.seconds: list[float] = []

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._is_over.wait(0.05):
            began, worked = time.monotonic(), self._sum_work()
            status = httpx.get(f"{self._attacked.web.origin}/healthz", timeout=30).status_code
            took = min(time.monotonic() - began, self._sum_work() - worked)
            self.seconds.append(took if status == 200 else math.inf)

    def _sum_work(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


@pytest.mark.parametrize("names", [*([each] for each in ATTACKS), [*ATTACKS]], ids=" and ".join)
async def test_requests_are_answered_and_memory_is_limited_during_attacks(
    attacked_process: AttackedProcess, names: Sequence[str]
) -> None:
    expected, seen = [ATTACKS[each][1] for each in names], attacked_process.target.statuses
    seen.clear()
    attacked_process.forget_peak()
    before = attacked_process.peak_mib
    chosen = itertools.islice(itertools.cycle(names), _CONNECTIONS)
    attacks = [
        asyncio.create_task(keep_attacking(attacked_process.target, number, ATTACKS[each][0]))
        for number, each in enumerate(chosen)
    ]
    with Probe(attacked_process) as probe:
        await asyncio.sleep(_LEAST_SECONDS)
        for _ in range(int(_MAX_WAITED_SECONDS / 0.1)):
            if all(each & seen.keys() for each in expected if each):
                break
            await asyncio.sleep(0.1)
    for each in attacks:
        each.cancel()
    await asyncio.gather(*attacks, return_exceptions=True)
    slowest, peak = max(probe.seconds), attacked_process.peak_mib
    print(f"{names}: {before} to {peak} MiB, {slowest:.2f} s, {seen}")
    assert peak < _MAX_MIB
    assert slowest < _MAX_SECONDS
    assert all(each & seen.keys() for each in expected if each)
