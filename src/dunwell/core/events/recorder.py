"""Writes down what became of tries, in groups: whatever has finished while the last group was
being committed makes up the next one. So a commit is shared when there is much to do, and nothing
waits when there is little.
"""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.core.events.endpoint import Endpoint
from dunwell.core.events.figures import count_failed_try
from dunwell.core.events.retry import Health, is_success, judge_endpoint
from dunwell.core.events.store_deliveries import Outcome, save_outcomes
from dunwell.core.events.store_endpoints import lock_endpoint, save_health
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_LARGEST_GROUP = 500
_PAUSE_SECONDS = 1.0
_CHANCES_WHEN_CLOSING = 5
_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Finished:
    outcome: Outcome
    when_recorded: Callable[[], None]


class Recorder:
    """Takes outcomes and commits them; `run` is the task that does."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._finished: list[_Finished] = []
        self._wake = asyncio.Event()
        self._is_closing = False

    def add(self, outcome: Outcome, when_recorded: Callable[[], None]) -> None:
        """Have it recorded; `when_recorded` is called after the commit."""
        if not is_success(outcome.reply.status):
            count_failed_try(outcome.reply.status)
        self._finished.append(_Finished(outcome, when_recorded))
        self._wake.set()

    def close(self) -> None:
        """Let `run` end once all that was added is recorded."""
        self._is_closing = True
        self._wake.set()

    async def run(self) -> None:
        while self._finished or not self._is_closing:
            await self._wake.wait()
            self._wake.clear()
            while group := self._finished[:_LARGEST_GROUP]:
                await self._record(group)
                del self._finished[: len(group)]
                for each in group:
                    each.when_recorded()
        self._is_closing = False

    async def _record(self, group: Sequence[_Finished]) -> None:
        """Commit the group, however long that takes, unless we are closing: repeating it is
        harmless, because a lease settled once is gone, and what is never recorded is delivered
        again by somebody."""
        outcomes = [each.outcome for each in group]
        chances = _CHANCES_WHEN_CLOSING
        while chances > 0:
            try:
                await _save(self._resources, outcomes)
            except Exception as error:  # noqa: BLE001 - an outcome is not lost for any reason
                _LOG.warning(
                    "deliveries.not_recorded", count=len(group), error=type(error).__name__,
                    once_a_minute=True,
                )  # fmt: skip
                chances -= self._is_closing
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return


async def _save(resources: Resources, outcomes: Sequence[Outcome]) -> None:
    """One statement, which commits by itself, unless an endpoint fails or did."""
    telling = [each for each in outcomes if _is_telling(each)]
    if not telling:
        async with resources.database.connection() as connection:
            await save_outcomes(connection, outcomes)
        return
    async with resources.database.transaction() as tx:
        # Endpoints are locked before deliveries, as removing an endpoint does.
        await _judge_endpoints(resources, tx, telling)
        await save_outcomes(tx, outcomes)


def _is_telling(outcome: Outcome) -> bool:
    return not (is_success(outcome.reply.status) and outcome.endpoint.health.is_well)


async def _judge_endpoints(
    resources: Resources, tx: Connection, telling: Sequence[Outcome]
) -> None:
    """Remember what the endpoints have answered."""

    def place(outcome: Outcome) -> tuple[int, UUID]:
        return outcome.endpoint.merchant_id, outcome.endpoint.endpoint_id

    for (merchant_id, endpoint_id), answers in itertools.groupby(
        sorted(telling, key=place), key=place
    ):
        endpoint = await lock_endpoint(tx, merchant_id, endpoint_id)
        if endpoint is not None:
            await _judge(resources, tx, endpoint, list(answers))


async def _judge(
    resources: Resources, tx: Connection, endpoint: Endpoint, outcomes: list[Outcome]
) -> None:
    health = endpoint.health
    for each in outcomes:
        health = judge_endpoint(health, each.reply.status, each.at)
    if health == endpoint.health:
        return
    await save_health(tx, endpoint.merchant_id, endpoint.endpoint_id, health)
    if endpoint.is_disabled != (health.disabled_at is not None):
        await _give_notice(resources, tx, endpoint, health)


async def _give_notice(
    resources: Resources, tx: Connection, endpoint: Endpoint, health: Health
) -> None:
    """Tell the operator, in the audit log and in the log, that it went off, or on again."""
    merchant = await load_merchant(tx, endpoint.merchant_id)
    assert merchant is not None
    now = resources.clock.now()
    work = Work(tx=tx, merchant=merchant, actor=SYSTEM, now=now, real_now=now, ids=resources.ids)
    action = "endpoint.switch_on" if health.disabled_at is None else "endpoint.switch_off"
    reason = health.disabled_reason
    is_on = health.disabled_at is None
    await save_audit(
        work, action, f"endpoint:{endpoint.endpoint_id}",
        before={"isOn": not is_on}, after={"isOn": is_on}, reason=reason,
    )  # fmt: skip
    _LOG.warning(
        action,
        merchant_id=endpoint.merchant_id,
        endpoint_id=str(endpoint.endpoint_id),
        state=reason,
    )
