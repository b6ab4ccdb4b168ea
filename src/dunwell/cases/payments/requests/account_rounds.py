"""Rounds of calls to payment providers. The rounds of the accounts run at the same time, so that a
provider that hangs or is not available delays no other account.

An account that gives no answers pauses for a growing time, and operators are alerted after an hour.
If the account is closed, nobody is alerted: its pauses become longer, and staff sees since when
nothing is known of its payments.

Nothing is called for an account that is missing: it was removed from the installation file, or its
secrets cannot be read after a backup was restored. Its work stays due, and operators are alerted at
once. The work of an account that was closed and then removed is given up.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from dunwell.accounts.installation.alerts.alert import AlertCondition, AlertFigures, AlertKind
from dunwell.accounts.installation.alerts.store import save_condition
from dunwell.cases.payments.provider import PaymentProviders
from dunwell.cases.payments.requests.closed_accounts import (
    delete_closed_failure,
    is_removed_account,
    save_closed_failure,
)
from dunwell.cases.payments.requests.store import PendingAccount
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

# How long `run_once` waits for its rounds. A round that takes longer continues during later calls.
_TURN_SECONDS = 1.0
# How long the rounds may take to end when the worker stops.
_FINISH_SECONDS = 10.0
_ACCOUNTS_AT_ONCE = 50
# Pauses of an account after one failure, two, and more. All are shorter than `QUIET_PERIOD`, after
# which an alert ends if its condition is not found again.
PAUSES = (timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=5), timedelta(minutes=10))
# The pauses that follow for a closed account, whose key may never work again.
CLOSED_PAUSES = (timedelta(hours=1), timedelta(hours=6), timedelta(days=1))
ALERT_AFTER = timedelta(hours=1)
# How often the alert about a missing account is renewed.
_RENEW_AFTER = timedelta(minutes=5)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BatchResult:
    calls: int
    # How many of the calls got no usable answer from the provider.
    failed: int = 0


class AccountWork(Protocol):
    """What is done for accounts, such as checking their payment requests."""

    @property
    def batch_size(self) -> int:
        """The maximum number of calls to an account in one batch."""

    async def list_accounts(self, tx: Connection) -> Sequence[PendingAccount]:
        """Return the accounts for which work is planned, now or later."""

    async def give_up(self, tx: Connection, provider: str) -> None:
        """End the work of an account that was closed and removed."""

    async def run_batch(self, provider: str, limit: int) -> BatchResult:
        """Make the calls to an account that are due, but at most `limit`. A call that fails becomes
        due again later."""


@dataclass(slots=True)
class _AccountHealth:
    """How the calls to an account went in this process. All times are real time."""

    # Failed rounds since the last answer.
    failures: int = 0
    failing_since: datetime | None = None
    paused_until: datetime | None = None
    # When the account was last reported as missing.
    reported_at: datetime | None = None
    # Whether the database says that the account gives no answer. None if that is unknown.
    is_failure_stored: bool | None = None

    def record_failure(self, now: datetime, *, is_closed: bool) -> None:
        pauses = (*PAUSES, *CLOSED_PAUSES) if is_closed else PAUSES
        self.failing_since = self.failing_since or now
        self.paused_until = now + pauses[min(self.failures, len(pauses) - 1)]
        self.failures += 1

    def is_paused(self, now: datetime) -> bool:
        return self.paused_until is not None and now < self.paused_until


class AccountRounds:
    """The rounds of one kind of work in this process."""

    def __init__(
        self, resources: Resources, providers: PaymentProviders, work: AccountWork,
        *, turn_seconds: float = _TURN_SECONDS,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._providers = providers
        self._work = work
        self._turn_seconds = turn_seconds
        self._health: dict[str, _AccountHealth] = {}
        self._running: dict[str, asyncio.Task[int]] = {}

    async def run_once(self) -> int:
        """Start a round for each account that has no running round and whose work is due, and wait
        up to `turn_seconds` for all rounds. Return the number of calls in the rounds that have
        ended."""
        await self._start_rounds()
        if self._running:
            await asyncio.wait(self._running.values(), timeout=self._turn_seconds)
        return self._remove_ended_rounds()

    async def close(self) -> None:
        """Wait until the rounds end, and cancel those that take too long. If a cancelled call
        succeeded at the provider, the next call finds its result."""
        if self._running:
            _, hanging = await asyncio.wait(self._running.values(), timeout=_FINISH_SECONDS)
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)

    async def _start_rounds(self) -> None:
        async with self._resources.database.connection() as connection:
            pending = await self._work.list_accounts(connection)
        now = self._resources.clock.now()
        names = {account.provider for account in pending}
        self._health = {name: health for name, health in self._health.items() if name in names}
        for account in sorted(pending, key=lambda account: account.due_at):
            name = account.provider
            health = self._health.setdefault(name, _AccountHealth())
            if name in self._running or len(self._running) >= _ACCOUNTS_AT_ONCE:
                continue
            if name not in self._providers:
                await self._report_missing(name, health, now)
            elif account.due_at <= now and not health.is_paused(now):
                self._running[name] = asyncio.create_task(self._run_round(name, health))

    async def _run_round(self, name: str, health: _AccountHealth) -> int:
        """Do the account's due work until nothing is left, or until no call of a batch is answered.
        Return the number of calls. After a failed round, the first batch is a single call."""
        calls, result = 0, BatchResult(1)
        while result.calls > result.failed:
            limit = 1 if health.failures else self._work.batch_size
            result = await self._work.run_batch(name, limit)
            calls += result.calls
            if result.calls > result.failed:
                health.failures, health.failing_since, health.paused_until = 0, None, None
                await self._forget_failure(name, health)
        if result.failed:
            await self._record_failure(name, health)
        return calls

    async def _record_failure(self, name: str, health: _AccountHealth) -> None:
        now = self._resources.clock.now()
        is_closed = self._is_closed(name)
        health.record_failure(now, is_closed=is_closed)
        since = health.failing_since
        log.warning(
            "payment account paused", provider=name, failing_since=since and since.isoformat()
        )
        if is_closed:
            await self._store_failure(name, health, now)
        elif since is not None and now - since >= ALERT_AFTER:
            figures = AlertFigures(since=since)
            await self._save_alert(AlertKind.PAYMENT_ACCOUNT_FAILING, name, figures, now)

    async def _report_missing(self, name: str, health: _AccountHealth, now: datetime) -> None:
        """Begin or renew the alert about an account that is needed and not installed. If the
        account was removed on purpose, give its work up instead."""
        if health.reported_at is not None and now < health.reported_at + _RENEW_AFTER:
            return
        async with self._resources.database.transaction() as tx:
            is_removed = await is_removed_account(tx, name)
            if is_removed:
                await self._work.give_up(tx, name)
                await delete_closed_failure(tx, name)
        if is_removed:
            log.warning("work of a removed payment account given up", provider=name)
            return
        log.error("payment account missing", provider=name)
        await self._save_alert(AlertKind.PAYMENT_ACCOUNT_MISSING, name, AlertFigures(), now)
        health.reported_at = now

    def _is_closed(self, name: str) -> bool:
        provider = self._providers.get(name)
        return provider is not None and provider.is_closed

    async def _store_failure(self, name: str, health: _AccountHealth, now: datetime) -> None:
        """Save since when a closed account gives no answer."""
        if not health.is_failure_stored:
            async with self._resources.database.transaction() as tx:
                await save_closed_failure(tx, name, health.failing_since or now)
            health.is_failure_stored = True

    async def _forget_failure(self, name: str, health: _AccountHealth) -> None:
        if health.is_failure_stored is not False:
            async with self._resources.database.transaction() as tx:
                await delete_closed_failure(tx, name)
            health.is_failure_stored = False

    async def _save_alert(
        self, kind: AlertKind, name: str, figures: AlertFigures, now: datetime
    ) -> None:
        condition = AlertCondition(kind, name, figures)
        async with self._resources.database.transaction() as tx:
            await save_condition(tx, condition, now, self._resources.ids)

    def _remove_ended_rounds(self) -> int:
        """Remove the rounds that have ended, and return how many calls they made."""
        calls = 0
        for name, task in [*self._running.items()]:
            if task.done():
                del self._running[name]
                error = task.exception()
                if error is None:
                    calls += task.result()
                else:
                    log.error("round of a payment account failed", provider=name, exc_info=error)
        return calls
