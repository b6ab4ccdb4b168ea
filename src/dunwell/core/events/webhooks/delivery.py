"""One attempt to deliver an event: sign it for its endpoint, post it, and record outcomes in
batches."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import TypeAlias
from uuid import UUID

import structlog
from aiohttp.abc import AbstractResolver
from standardwebhooks import Webhook

from dunwell.accounts.installation.installation_file import WebhookReach
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.core.events.webhooks.endpoint import WebhookEndpoint, is_allowed_scheme
from dunwell.core.events.webhooks.endpoint_secrets import open_authorization, open_secret
from dunwell.core.events.webhooks.health.metrics import count_failed_attempt
from dunwell.core.events.webhooks.retry import (
    FailureHistory,
    compute_health,
    is_success,
    parse_retry_after,
)
from dunwell.core.events.webhooks.store import (
    AttemptResult,
    DeliveryOutcome,
    LeasedDelivery,
    lock_endpoint,
    save_health,
    save_outcomes,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.http.addresses import Network
from dunwell.platform.http.client import HttpClient, HttpResponse, NoResponse, open_http_client
from dunwell.platform.resources import Resources

_TIMEOUT_SECONDS = 15.0
_MAX_EXCERPT_LENGTH = 500
_USER_AGENT = f"Dunwell/{version('dunwell')}"


class WebhookRequestSigner:
    """Signs and authorises requests with an endpoint's decrypted secrets."""

    def __init__(self, keys: KeyRing, endpoint: WebhookEndpoint) -> None:
        """Decrypt the endpoint's secrets. Raises DecryptionFailed."""
        owner = (endpoint.merchant_id, endpoint.endpoint_id)
        self.url = endpoint.url
        self._current = Webhook(open_secret(keys, *owner, endpoint.secret_sealed))
        self._previous: Webhook | None = None
        self._previous_until = endpoint.previous_secret_until
        if endpoint.previous_secret_sealed is not None:
            self._previous = Webhook(open_secret(keys, *owner, endpoint.previous_secret_sealed))
        self._fixed_headers = {"Content-Type": "application/json"}
        if endpoint.authorization_sealed is not None:
            value = open_authorization(keys, *owner, endpoint.authorization_sealed)
            self._fixed_headers["Authorization"] = value

    def render_headers(self, delivery: LeasedDelivery, now: datetime) -> dict[str, str]:
        """Return the headers of an attempt at the real time `now`. They have two signatures for the
        24 hours after a rotation of the secret."""
        event_id = str(delivery.event_id)
        signature = self._current.sign(event_id, now, delivery.body)
        until = self._previous_until
        if self._previous is not None and until is not None and now < until:
            signature += " " + self._previous.sign(event_id, now, delivery.body)
        headers = {
            **self._fixed_headers,
            "webhook-id": event_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signature,
        }
        if delivery.sequence is not None:
            headers["Dunwell-Sequence"] = str(delivery.sequence)
        return headers


OpenPrivateClient: TypeAlias = Callable[
    [tuple[Network, ...]], AbstractAsyncContextManager[HttpClient]
]


class WebhookSender:
    """Posts deliveries: to public addresses with one client, and to each set of networks of the
    installation file with a client that reaches nothing else."""

    def __init__(
        self, public: HttpClient, exit_stack: AsyncExitStack, open_private: OpenPrivateClient, *,
        allow_loopback: bool,
    ) -> None:  # fmt: skip
        """`exit_stack` closes the clients that `open_private` opens later."""
        self._public = public
        self._exit_stack = exit_stack
        self._open_private = open_private
        self._open_lock = asyncio.Lock()
        self._private: dict[tuple[Network, ...], HttpClient] = {}
        self._allow_loopback = allow_loopback

    async def send(
        self,
        signer: WebhookRequestSigner,
        delivery: LeasedDelivery,
        now: datetime,
        reach: WebhookReach,
    ) -> AttemptResult:
        """Make one attempt, started at the real time `now`. Never raises for a failure of the
        endpoint."""
        headers = signer.render_headers(delivery, now)
        started = time.monotonic()
        response = await self._post(signer.url, delivery.body.encode(), headers, reach)
        duration = timedelta(seconds=time.monotonic() - started)
        if isinstance(response, NoResponse):
            return AttemptResult(
                status=None,
                error=response.reason,
                response=None,
                retry_after=None,
                duration=duration,
            )
        retry_after = parse_retry_after(response.headers.get("Retry-After"), now + duration)
        return AttemptResult(
            status=response.status,
            error=None,
            response=_render_excerpt(response.start),
            retry_after=retry_after,
            duration=duration,
        )

    async def _post(
        self, url: str, body: bytes, headers: dict[str, str], reach: WebhookReach
    ) -> HttpResponse | NoResponse:
        if not is_allowed_scheme(url, reach, is_development=self._allow_loopback):
            return NoResponse("https is required", may_have_arrived=False)
        client = await self._get_private_client(reach.networks) if reach.networks else self._public
        return await client.post(url, body, headers)

    async def _get_private_client(self, networks: tuple[Network, ...]) -> HttpClient:
        """Return the client that reaches only these networks. It reuses no connections, because
        addresses are checked when a connection is made."""
        async with self._open_lock:
            if networks not in self._private:
                self._private[networks] = await self._exit_stack.enter_async_context(
                    self._open_private(networks)
                )
            return self._private[networks]


@asynccontextmanager
async def open_webhook_sender(
    *, allow_loopback: bool, authorities: str | None = None,
    resolver: AbstractResolver | None = None,
) -> AsyncIterator[WebhookSender]:  # fmt: skip
    """Open the sender of a process. Only the development profile sets `allow_loopback`.

    `authorities` are PEM certificates that are trusted in addition, but only in networks of the
    installation file. `resolver` looks up host names instead of the system.
    """

    def open_private(networks: tuple[Network, ...]) -> AbstractAsyncContextManager[HttpClient]:
        return open_http_client(
            allow_loopback=False,
            user_agent=_USER_AGENT,
            timeout_seconds=_TIMEOUT_SECONDS,
            resolver=resolver,
            networks=networks,
            authorities=authorities,
            keeps_connections=False,
        )

    async with AsyncExitStack() as exit_stack:
        public = await exit_stack.enter_async_context(
            open_http_client(
                allow_loopback=allow_loopback,
                user_agent=_USER_AGENT,
                timeout_seconds=_TIMEOUT_SECONDS,
                resolver=resolver,
            )
        )
        yield WebhookSender(public, exit_stack, open_private, allow_loopback=allow_loopback)


def _render_excerpt(start: bytes) -> str | None:
    """Return the beginning of the response body as printable text."""
    if not start:
        return None
    text = start.decode("utf-8", errors="replace")
    shown = "".join(char if char.isprintable() else " " for char in text[:_MAX_EXCERPT_LENGTH])
    return shown.strip() or None


_MAX_BATCH = 500
# How long to wait after a failed commit, and how often a commit is tried while the process is
# ending.
_PAUSE_SECONDS = 1.0
_ATTEMPTS_WHEN_CLOSING = 5
_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _FinishedDelivery:
    outcome: DeliveryOutcome
    when_recorded: Callable[[], None]


class OutcomeRecorder:
    """Records delivery outcomes in batches. Outcomes that arrive while one batch is being committed
    form the next batch. `run` is its task."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._finished: list[_FinishedDelivery] = []
        self._wake = asyncio.Event()
        self._is_closing = False

    def add(self, outcome: DeliveryOutcome, when_recorded: Callable[[], None]) -> None:
        """Queue the outcome. `when_recorded` is called after the commit."""
        if not is_success(outcome.result.status):
            count_failed_attempt(outcome.result.status)
        self._finished.append(_FinishedDelivery(outcome, when_recorded))
        self._wake.set()

    def close(self) -> None:
        """Let `run` end after all queued outcomes are recorded."""
        self._is_closing = True
        self._wake.set()

    async def run(self) -> None:
        while self._finished or not self._is_closing:
            await self._wake.wait()
            self._wake.clear()
            while batch := self._finished[:_MAX_BATCH]:
                await self._record(batch)
                del self._finished[: len(batch)]
                for each in batch:
                    each.when_recorded()
        self._is_closing = False

    async def _record(self, batch: Sequence[_FinishedDelivery]) -> None:
        """Commit the batch, and retry until it succeeds; while closing, only a few times. A retry
        is harmless, because an outcome counts only while its lease is held. Deliveries without a
        recorded outcome are sent again."""
        outcomes = [each.outcome for each in batch]
        attempts_left = _ATTEMPTS_WHEN_CLOSING
        while attempts_left > 0:
            try:
                await _save_outcomes(self._resources, outcomes)
            except Exception as error:  # noqa: BLE001 - no error may lose an outcome
                _LOG.warning(
                    "deliveries.not_recorded", count=len(batch), error=type(error).__name__,
                    once_a_minute=True,
                )  # fmt: skip
                if self._is_closing:
                    attempts_left -= 1
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return


async def _save_outcomes(resources: Resources, outcomes: Sequence[DeliveryOutcome]) -> None:
    """Save the outcomes: in one statement, or in a transaction if an endpoint's health
    may change.
    """
    relevant = [each for each in outcomes if _may_change_health(each)]
    if not relevant:
        async with resources.database.connection() as connection:
            await save_outcomes(connection, outcomes)
        return
    async with resources.database.transaction() as tx:
        # Endpoints are locked before deliveries, as in removing an endpoint.
        await _update_health(resources, tx, relevant)
        await save_outcomes(tx, outcomes)


def _may_change_health(outcome: DeliveryOutcome) -> bool:
    return not (is_success(outcome.result.status) and outcome.endpoint.health.is_well)


async def _update_health(
    resources: Resources, tx: Connection, outcomes: Sequence[DeliveryOutcome]
) -> None:
    """Update the health of the endpoints of these outcomes."""

    def get_endpoint_key(outcome: DeliveryOutcome) -> tuple[int, UUID]:
        return outcome.endpoint.merchant_id, outcome.endpoint.endpoint_id

    for (merchant_id, endpoint_id), outcomes_of_endpoint in itertools.groupby(
        sorted(outcomes, key=get_endpoint_key), key=get_endpoint_key
    ):
        endpoint = await lock_endpoint(tx, merchant_id, endpoint_id)
        if endpoint is not None:
            await _update_endpoint_health(resources, tx, endpoint, list(outcomes_of_endpoint))


async def _update_endpoint_health(
    resources: Resources, tx: Connection, endpoint: WebhookEndpoint, outcomes: list[DeliveryOutcome]
) -> None:
    health = endpoint.health
    for each in outcomes:
        health = compute_health(health, each.result.status, each.at)
    if health == endpoint.health:
        return
    await save_health(tx, endpoint.merchant_id, endpoint.endpoint_id, health)
    if endpoint.is_disabled != (health.disabled_at is not None):
        await _record_switch(resources, tx, endpoint, health)


async def _record_switch(
    resources: Resources, tx: Connection, endpoint: WebhookEndpoint, health: FailureHistory
) -> None:
    """Record in the audit log and in the log that the endpoint was disabled or enabled again."""
    merchant = await load_merchant(tx, endpoint.merchant_id)
    assert merchant is not None
    now = resources.clock.now()
    work = Work(tx=tx, merchant=merchant, actor=SYSTEM, now=now, real_now=now, ids=resources.ids)
    is_on = health.disabled_at is None
    action = "endpoint.switch_on" if is_on else "endpoint.switch_off"
    reason = health.disabled_reason
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
