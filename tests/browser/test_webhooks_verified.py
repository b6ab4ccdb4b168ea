"""Every delivery can be verified with the official libraries for Python and JavaScript."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from dunwell.core.events.body import EVENT_TYPES
from dunwell.core.events.event_log import save_events
from dunwell.core.events.webhooks.delivery import WebhookSender, open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.core.events.webhooks.endpoints import rotate_secret
from dunwell.platform.clock import SystemClock
from dunwell.platform.resources import Resources
from tests.support.receiver import ReceivedRequest, a_receiver, answers
from tests.support.shown_receiver import check_shown_receiver
from tests.support.webhooks import Outbox, an_outbox

_ROOT = Path(__file__).parents[2]
_LIBRARY = _ROOT / "var/standardwebhooks/node_modules/standardwebhooks/dist/index.js"
_PROGRAM = _ROOT / "tests/support/verify_webhooks.cjs"


@dataclass(frozen=True, slots=True)
class Shown:
    """The secret, the body and the headers that a receiver verifies."""

    secret: str
    body: str
    headers: dict[str, str]


@pytest.fixture
async def sender() -> AsyncIterator[WebhookSender]:
    async with open_webhook_sender(allow_loopback=True) as opened:
        yield opened


@pytest.fixture
def today(resources: Resources) -> Resources:
    """Resources in real time, because receivers compare the timestamp with their clock."""
    return replace(resources, clock=SystemClock())


def verify_in_python(shown: Sequence[Shown]) -> list[bool]:
    accepted = []
    for each in shown:
        try:
            Webhook(each.secret).verify(each.body, each.headers)
        except WebhookVerificationError:
            accepted.append(False)
        else:
            accepted.append(True)
    return accepted


async def verify_in_javascript(shown: Sequence[Shown]) -> list[bool]:
    assert _LIBRARY.is_file(), f"{_LIBRARY} is missing; make e2e installs it"
    pipe = asyncio.subprocess.PIPE
    node = await asyncio.create_subprocess_exec(
        "node", str(_PROGRAM), str(_LIBRARY), stdin=pipe, stdout=pipe
    )
    answer, _ = await node.communicate(msgspec.json.encode(shown))
    verdicts: list[bool] = json.loads(answer)
    return verdicts


async def verify(shown: Sequence[Shown]) -> tuple[list[bool], list[bool]]:
    return verify_in_python(shown), await verify_in_javascript(shown)


async def raise_every_type(outbox: Outbox) -> None:
    """Raise an event of each type, with characters outside ASCII in its body."""
    events = [
        msgspec.structs.replace(
            event, type=name, body=event.body.replace("CHECKPOINT_REACHED", name)
        )
        for name, event in zip(EVENT_TYPES, outbox.build(len(EVENT_TYPES)), strict=True)
    ]
    async with outbox.resources.database.transaction() as tx:
        await save_events(tx, outbox.merchant.merchant_id, events, outbox.now)


def show(secret: str, received: ReceivedRequest) -> Shown:
    return Shown(secret, received.body.decode(), received.headers)


async def test_every_delivery_verifies(today: Resources, sender: WebhookSender) -> None:
    outbox = await an_outbox(today)
    async with a_receiver(answers(204)) as receiver:
        secret = (await outbox.add_endpoint(receiver.url)).secret
        await raise_every_type(outbox)
        await WebhookDispatcher(today, sender).run_once()
    shown = [show(secret, each) for each in receiver.received]

    assert {json.loads(each.body)["type"] for each in shown} == set(EVENT_TYPES)
    assert await verify(shown) == ([True] * len(EVENT_TYPES), [True] * len(EVENT_TYPES))


async def test_a_changed_body_another_id_and_an_old_timestamp_are_refused(
    today: Resources, resources: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(today)
    async with a_receiver(answers(204)) as receiver:
        secret = (await outbox.add_endpoint(receiver.url)).secret
        await raise_every_type(outbox)
        await WebhookDispatcher(today, sender).run_once()
        await outbox.raise_events()
        late = replace(today, clock=resources.clock)  # The clock is in March 2026.
        await outbox.rows("UPDATE deliveries SET due_at = '2026-01-01' WHERE merchant_id = $1"
                          " AND state = 'PENDING'")  # fmt: skip
        await WebhookDispatcher(late, sender).run_once()
    good, old = receiver.received[0], receiver.received[-1]
    shown = [
        show(secret, good),
        replace(show(secret, good), body=good.body.decode().replace("INV-1001", "INV-1002")),
        replace(show(secret, good), body=json.dumps(json.loads(good.body))),
        replace(show(secret, good), headers={**good.headers, "webhook-id": old.event_id}),
        show(secret, old),
    ]

    verdicts = [True, False, False, False, False]
    assert await verify(shown) == (verdicts, verdicts)


async def test_during_a_rotation_both_libraries_accept_both_secrets(
    today: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(today)
    async with a_receiver(answers(204)) as receiver:
        old = await outbox.add_endpoint(receiver.url)
        async with today.database.transaction() as tx:
            new = await rotate_secret(outbox.work(tx), today.keys, old.endpoint_id)
        await raise_every_type(outbox)
        await WebhookDispatcher(today, sender).run_once()
    shown = [show(key, each) for key in (old.secret, new.secret) for each in receiver.received]

    assert await verify(shown) == ([True] * 18, [True] * 18)


async def test_the_guides_javascript_receiver_accepts_each_event_once(
    resources: Resources, tmp_path: Path, unused_tcp_port: int
) -> None:
    (tmp_path / "node_modules").symlink_to(_LIBRARY.parents[2])
    program = tmp_path / "receiver.mjs"
    await check_shown_receiver(resources, "js", program, ["node"], unused_tcp_port)
