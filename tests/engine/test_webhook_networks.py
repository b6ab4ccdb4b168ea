"""The installation file allows internal networks for the webhooks of one merchant.

No other merchant and no other address is reached, and nothing after the entry was removed.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import DispatchLimits, WebhookDispatcher
from dunwell.core.events.webhooks.send_test import send_test, start_test
from dunwell.platform.resources import Resources
from tests.engine.test_hostile_addresses import ANSWERED, SPELLED, Names, a_listener
from tests.support.certificates import write_certificate
from tests.support.receiver import Receiver, a_receiver, answers
from tests.support.webhooks import Outbox, an_outbox

# On the loopback interface, so that the tests can reach it; allowed as an operator allows its own.
INSIDE, NETWORK = "127.7.7.7", "127.7.7.0/24"
_TRIES = (
    "SELECT t.status, t.error FROM delivery_attempts t"
    " WHERE t.merchant_id = $1 ORDER BY t.event_id, t.attempt"
)


@pytest.fixture
async def outbox(resources: Resources) -> Outbox:
    return await an_outbox(resources)


async def open_networks(resources: Resources, *entries: dict[str, Any]) -> None:
    document = {"webhookNetworks": list(entries)}
    await apply_installation(resources, check_installation(document))


def an_entry(merchant: str = "nordwind", **given: Any) -> dict[str, Any]:
    return {"merchant": merchant, "networks": [NETWORK], "tls": "OPTIONAL"} | given


@asynccontextmanager
async def a_dispatcher(
    resources: Resources, names: Names | None = None, authorities: str | None = None
) -> AsyncIterator[WebhookDispatcher]:
    """Open a dispatcher as in production, where loopback counts as internal."""
    async with open_webhook_sender(
        allow_loopback=False, authorities=authorities, resolver=names
    ) as sender:
        yield WebhookDispatcher(resources, sender, DispatchLimits(in_flight_per_endpoint=1))


async def tries_of(outbox: Outbox) -> list[tuple[int | None, str | None]]:
    return [(row["status"], row["error"]) for row in await outbox.rows(_TRIES)]


def a_receiver_in_network(
    answering: Any = None, **given: Any
) -> AbstractAsyncContextManager[Receiver]:
    return a_receiver(answering or answers(204), INSIDE, **given)


async def test_only_the_named_merchant_reaches_the_network(
    resources: Resources, outbox: Outbox
) -> None:
    await open_networks(resources, an_entry())
    other = await an_outbox(resources, "hansen")
    async with a_receiver_in_network() as receiver, a_dispatcher(resources) as dispatcher:
        for each in (outbox, other):
            await each.add_endpoint(receiver.url)
            await each.add_endpoint(receiver.url.replace("http:", "https:"))
            await each.raise_events()
        assert await dispatcher.run_once() == 4
    assert len(receiver.received) == 1
    assert sorted(map(str, await tries_of(outbox))) == [
        "(204, None)", "(None, 'no TLS connection')",
    ]  # fmt: skip
    assert sorted(await tries_of(other)) == [
        (None, "address not allowed"), (None, "https is required"),
    ]  # fmt: skip


async def test_a_revoked_network_is_not_reached_from_the_next_attempt_on(
    resources: Resources, outbox: Outbox
) -> None:
    answered = 0

    async def take_back(_: web.Request) -> web.Response:
        """Remove the network in the middle of a batch that was leased with it."""
        nonlocal answered
        answered += 1
        if answered == 20:
            await open_networks(resources)
        return web.Response(status=204)

    await open_networks(resources, an_entry(tls="OPTIONAL"))
    async with a_receiver_in_network(take_back) as receiver, a_dispatcher(resources) as dispatcher:
        await outbox.add_endpoint(receiver.url)
        await outbox.raise_events(60)
        assert await dispatcher.run_once() == 60
    assert len(receiver.received) == 20
    errors = [error for _, error in await tries_of(outbox)]
    assert sorted(map(str, errors)) == ["None"] * 20 + ["https is required"] * 40


async def test_an_open_connection_is_not_used_after_its_network_was_revoked(
    resources: Resources, outbox: Outbox
) -> None:
    """By host name and with TLS, so that only the address decides."""
    await open_networks(resources, an_entry())
    async with (
        a_receiver_in_network() as receiver,
        a_dispatcher(resources, Names([INSIDE])) as dispatcher,
    ):
        url = receiver.url.replace(INSIDE, "erp.example")
        await outbox.add_endpoint(url)
        await outbox.raise_events()
        assert await dispatcher.run_once() == 1
        await open_networks(resources, an_entry(networks=["127.8.8.0/24"]))
        await outbox.raise_events()
        assert await dispatcher.run_once() == 1
    assert len(receiver.received) == 1
    assert await tries_of(outbox) == [(204, None), (None, "address not allowed")]


async def test_https_is_required_unless_the_entry_says_otherwise(
    resources: Resources, outbox: Outbox
) -> None:
    await open_networks(resources, an_entry(tls="REQUIRED"))
    async with a_receiver_in_network() as receiver, a_dispatcher(resources) as dispatcher:
        await outbox.add_endpoint(receiver.url)
        await outbox.raise_events()
        await dispatcher.run_once()
    assert receiver.received == []
    assert await tries_of(outbox) == [(None, "https is required")]


async def test_hostile_host_names_reach_nothing_although_a_network_is_allowed(
    resources: Resources, outbox: Outbox
) -> None:
    await open_networks(resources, an_entry())
    async with a_listener() as (port, seen):
        for address in ANSWERED:
            name = f"{address.replace(':', '-').replace('.', '-')}.hooks.example"
            async with a_dispatcher(resources, Names([address])) as dispatcher:
                await outbox.add_endpoint(f"http://{name}:{port}/")
                await outbox.raise_events()
                await dispatcher.run_once()
            await outbox.rows(
                "UPDATE webhook_endpoints SET removed_at = now() WHERE merchant_id = $1 RETURNING 1"
            )
    assert seen == []
    assert await tries_of(outbox) == [(None, "address not allowed")] * len(ANSWERED)


async def test_spellings_of_other_hosts_reach_nothing_although_a_network_is_allowed(
    resources: Resources, outbox: Outbox
) -> None:
    """The URL bypasses the checks of the form, as if the database had been changed by hand."""
    await open_networks(resources, an_entry())
    async with a_listener() as (port, seen), a_dispatcher(resources) as dispatcher:
        for place, host in enumerate(SPELLED):
            added = await outbox.add_endpoint(f"http://h{place}.example:{port}/")
            await outbox.rows(
                "UPDATE webhook_endpoints SET url = $3"
                " WHERE merchant_id = $1 AND endpoint_id = $2 RETURNING 1",
                added.endpoint_id, f"http://{host}:{port}/hooks",
            )  # fmt: skip
        await outbox.raise_events()
        assert await dispatcher.run_once() == len(SPELLED)
    assert seen == []


async def test_a_redirect_out_of_the_network_is_not_followed(
    resources: Resources, outbox: Outbox
) -> None:
    await open_networks(resources, an_entry())
    async with a_listener() as (port, seen), a_dispatcher(resources) as dispatcher:

        async def redirect(_: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": f"http://{INSIDE}:{port}/"})

        async with a_receiver_in_network(redirect) as receiver:
            await outbox.add_endpoint(receiver.url)
            await outbox.raise_events()
            await dispatcher.run_once()
    assert seen == []
    assert await tries_of(outbox) == [(302, None)]


@pytest.mark.parametrize(
    ("is_named", "is_open", "expected"),
    [
        (True, True, (204, None)),
        (False, True, (None, "certificate not accepted")),
        # A private authority is not trusted outside the networks.
        (True, False, (None, "certificate not accepted")),
    ],
)
async def test_a_private_certificate_authority_is_trusted_only_in_the_networks(
    resources: Resources, outbox: Outbox, tmp_path: Path, *, is_named: bool, is_open: bool,
    expected: tuple[int | None, str | None],
) -> None:  # fmt: skip
    tls = write_certificate(tmp_path, "erp.example")
    authority = (tmp_path / "certificate.pem").read_text()
    await open_networks(resources, *([an_entry(tls="REQUIRED")] if is_open else []))
    async with (
        a_receiver_in_network(tls=tls) as receiver,
        open_webhook_sender(
            allow_loopback=True,
            authorities=authority if is_named else None,
            resolver=Names([INSIDE]),
        ) as sender,
    ):
        await outbox.add_endpoint(receiver.url.replace(INSIDE, "erp.example"))
        await outbox.raise_events()
        assert await WebhookDispatcher(resources, sender).run_once() == 1
    assert await tries_of(outbox) == [expected]


async def test_a_test_event_respects_the_same_networks(
    resources: Resources, outbox: Outbox
) -> None:
    async with (
        a_receiver_in_network() as receiver,
        open_webhook_sender(allow_loopback=False) as sender,
    ):
        added = await outbox.add_endpoint(receiver.url)
        statuses = []
        for entries in ([], [an_entry()], [an_entry("hansen")]):
            await open_networks(resources, *entries)
            async with resources.database.transaction() as tx:
                started = await start_test(outbox.work(tx), added.endpoint_id)
            reply = await send_test(sender, resources.keys, started)
            statuses.append(reply.status or reply.error)
    assert statuses == ["https is required", 204, "https is required"]
