"""Wrong client secrets are counted by visitor across all processes, logged and shown in the
metrics."""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from dunwell.accounts.merchants.store import sweep_merchant_rows
from dunwell.platform.clock import MovableClock
from tests.support.api import Api, form_of
from tests.support.application import an_application, connect


async def _request_token(http: httpx.AsyncClient, form: dict[str, str]) -> httpx.Response:
    return await http.post("/api/token", data=form)


def _form_with_wrong_secret(api: Api) -> dict[str, str]:
    return {**form_of(api.nordwind.credential), "client_secret": "dws_wrong"}


async def test_the_twenty_first_wrong_secret_is_not_checked(
    api: Api, clock: MovableClock, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = connect(api.app, "203.0.113.9")
    before = await _count_failed_and_locked(api)

    wrong = [await _request_token(stranger, _form_with_wrong_secret(api)) for _ in range(21)]
    right = await _request_token(stranger, form_of(api.nordwind.credential))

    assert [answer.status_code for answer in wrong] == [401] * 20 + [429]
    assert (right.status_code, right.json()["error"]) == (429, "temporarily_unavailable")
    assert list(right.json()) == ["error", "error_description"]
    assert 1 <= int(right.headers["Retry-After"]) <= 301
    log = capsys.readouterr().out
    assert (log.count("SIGN_IN_FAILED"), log.count("SIGN_IN_LOCKED")) == (20, 2)
    assert api.nordwind.credential.client_id not in log
    assert await _count_failed_and_locked(api) == (before[0] + 20, before[1] + 2)
    statuses = []
    for passed in (timedelta(minutes=5, microseconds=-1), timedelta(microseconds=1)):
        clock.advance(passed)
        again = await _request_token(stranger, form_of(api.nordwind.credential))
        statuses.append(again.status_code)
    assert statuses == [429, 200]


async def test_wrong_secrets_of_one_visitor_do_not_lock_out_others(api: Api) -> None:
    stranger = connect(api.app, "203.0.113.9")
    for _ in range(25):
        await _request_token(stranger, _form_with_wrong_secret(api))

    answer = await _request_token(
        connect(api.app, "198.51.100.7"), form_of(api.nordwind.credential)
    )

    assert answer.status_code == 200


async def test_fifty_concurrent_wrong_secrets_in_two_processes_are_twenty_attempts(
    api: Api,
) -> None:
    other = an_application(replace(api.resources)).app
    visitors = [connect(app, f"2001:db8:1:2::{n}") for n, app in enumerate((api.app, other))]

    answers = await asyncio.gather(
        *(
            _request_token(visitors[number % 2], _form_with_wrong_secret(api))
            for number in range(50)
        )
    )

    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(401), statuses.count(429)) == (20, 30)


async def test_housekeeping_deletes_expired_attempts(api: Api, clock: MovableClock) -> None:
    await _request_token(connect(api.app, "203.0.113.9"), _form_with_wrong_secret(api))
    left = []
    for hours in (timedelta(minutes=59), timedelta(minutes=2)):
        clock.advance(hours)
        async with api.resources.database.transaction() as tx:
            await sweep_merchant_rows(tx, clock.now())
            left.append(await tx.fetchval("SELECT count(*) FROM rate_limits"))
    assert left == [1, 0]


async def _count_failed_and_locked(api: Api) -> tuple[float, float]:
    text = (await api.nordwind.http.get("/metrics")).text

    def find(kind: str) -> float:
        line = rf'^dunwell_security_events_total{{type="{kind}"}} (\S+)$'
        found = re.search(line, text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    return find("SIGN_IN_FAILED"), find("SIGN_IN_LOCKED")
