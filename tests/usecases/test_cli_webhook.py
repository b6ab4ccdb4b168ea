"""`dunwell webhook`: listing, testing and replaying to endpoints."""

import asyncio
import json

import pytest
from standardwebhooks import Webhook

from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.receiver import a_receiver, answers
from tests.support.webhooks import Outbox, an_outbox


@pytest.fixture
async def outbox(resources: Resources) -> Outbox:
    return await an_outbox(resources)


async def test_endpoints_are_listed_with_their_state(dunwell: CommandLine, outbox: Outbox) -> None:
    assert dunwell.run("webhook", "list", "nordwind").stdout.startswith("The merchant has no")
    await outbox.add_endpoint("http://127.0.0.1:1/a", ("ARCHIVED",), "Bearer secret")
    await outbox.rows(
        "UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = 'GONE',"
        " first_failure_at = '2026-03-02T09:03:00Z' WHERE merchant_id = $1"
    )
    table = dunwell.run("webhook", "list", "nordwind").stdout
    [listed] = json.loads(dunwell.run("webhook", "list", "nordwind", "--json").stdout)

    assert table.splitlines()[0].split() == [
        "ID", "URL", "EVENTS", "STATE", "FAILING", "SINCE",
    ]  # fmt: skip
    assert "disabled (GONE)" in table
    assert table.splitlines()[1].endswith("2026-03-02T09:03:00Z")
    assert listed["failingSince"].startswith("2026-03-02T09:03:00")
    assert (listed["url"], listed["events"]) == ("http://127.0.0.1:1/a", ["ARCHIVED"])
    assert (listed["hasAuthorization"], listed["disabledReason"]) == (True, "GONE")
    assert "secret" not in table + json.dumps(listed)


async def test_a_test_delivery_is_signed_and_its_response_printed(
    dunwell: CommandLine, outbox: Outbox
) -> None:
    async with a_receiver(answers(202, "thanks")) as receiver:
        new = await outbox.add_endpoint(receiver.url, ("ARCHIVED",), "Bearer abc")
        done = await asyncio.to_thread(dunwell.run, "webhook", "test", "nordwind", receiver.url)

    assert (done.returncode, done.stdout) == (0, "answer  202\nbody    thanks\n"), done.stderr
    [received] = receiver.received
    Webhook(new.secret).verify(received.body, received.headers)
    event = json.loads(received.body)
    assert received.headers["authorization"] == "Bearer abc"
    assert event["eventId"] == received.event_id
    assert (event["type"], event["claim"]["id"]) == ("CHECKPOINT_REACHED", 0)
    assert await outbox.rows("SELECT FROM events WHERE merchant_id = $1") == []


async def test_a_failed_test_delivery_exits_with_1_and_changes_nothing(
    dunwell: CommandLine, outbox: Outbox
) -> None:
    async with a_receiver(answers(410)) as receiver:
        new = await outbox.add_endpoint(receiver.url)
        before = await outbox.endpoint(new.endpoint_id)
        done = await asyncio.to_thread(dunwell.run, "webhook", "test", "nordwind", receiver.url)

    assert (done.returncode, done.stdout) == (1, "answer  410\n")
    assert "not a success" in done.stderr
    assert await outbox.endpoint(new.endpoint_id) == before


async def test_an_unknown_endpoint_is_reported_with_the_known_ones(
    dunwell: CommandLine, outbox: Outbox
) -> None:
    await outbox.add_endpoint("http://127.0.0.1:1/a")
    for word in ("test", "rotate"):
        done = dunwell.run("webhook", word, "nordwind", "http://127.0.0.1:1/b")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            "dunwell: The merchant has no webhook http://127.0.0.1:1/b."
            " It has: http://127.0.0.1:1/a.\n"
        )


async def test_a_range_of_events_is_replayed(dunwell: CommandLine, outbox: Outbox) -> None:
    await outbox.add_endpoint("http://127.0.0.1:1/a")
    await outbox.raise_events(3)
    await outbox.rows(
        "UPDATE deliveries SET state = 'GIVEN_UP', due_at = NULL WHERE merchant_id = $1"
    )
    words = ("webhook", "replay", "nordwind", "--since", "2026-03-01")

    nothing = dunwell.run(*words, "--until", "2026-03-02T00:00:00Z", "--type", "ARCHIVED")
    done = dunwell.run(*words)

    assert nothing.stdout == "0 deliveries are due again\n", nothing.stderr
    assert done.stdout == "3 deliveries are due again\n"
    assert {state for _, state, _ in await outbox.deliveries()} == {"PENDING"}


async def test_the_proof_lists_missing_events_and_exits_with_1(
    dunwell: CommandLine, outbox: Outbox
) -> None:
    url = "http://127.0.0.1:1/a"
    await outbox.add_endpoint(url)
    assert dunwell.run("webhook", "proof", "nordwind", url).stdout == "Nothing was sent yet.\n"
    await outbox.raise_events(2)
    await outbox.rows(
        "UPDATE deliveries SET state = 'GIVEN_UP', due_at = NULL, attempts = 10 WHERE "
        "merchant_id = $1"
    )

    done = dunwell.run("webhook", "proof", "nordwind", url, "--from", "2")
    [gap] = json.loads(dunwell.run("webhook", "proof", "nordwind", url, "--json").stdout)["gaps"][
        1:
    ]

    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "Sent 2 to 2, acknowledged all but 1."
    assert (gap["number"], gap["why"], gap["claimId"]) == (2, "GIVEN_UP", outbox.claim_id)


async def test_an_endpoint_is_enabled(dunwell: CommandLine, outbox: Outbox) -> None:
    new = await outbox.add_endpoint("http://127.0.0.1:1/a")
    await outbox.rows(
        "UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = 'GONE'"
        " WHERE merchant_id = $1"
    )

    done = dunwell.run("webhook", "on", "nordwind", new.url)

    assert (done.returncode, done.stdout) == (0, "enabled\n")
    assert (await outbox.endpoint(new.endpoint_id))["disabled_at"] is None
    assert dunwell.run("webhook", "on", "nordwind", new.url).returncode == 1
