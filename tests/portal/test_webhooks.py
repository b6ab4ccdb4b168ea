"""The pages of webhook endpoints: what they show, and that each action happens once."""

import re
from datetime import timedelta
from typing import Any

import pytest

from tests.support.harness import Harness
from tests.support.logged_endpoint import LoggedEndpoint, a_logged_endpoint, an_endpoint
from tests.support.portal import Clerk, read_fields
from tests.support.portal_data import MARKUP
from tests.support.receiver import a_receiver, answers

_AUDIT = "SELECT action, before, after FROM audit_log WHERE merchant_id = $1 ORDER BY audit_id"
_SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")


@pytest.fixture
async def logged_endpoint(harness: Harness, claim_id: int) -> LoggedEndpoint:
    return await a_logged_endpoint(harness, claim_id, response_text=MARKUP)


async def audited(harness: Harness, action: str) -> list[Any]:
    return [row for row in await harness.rows(_AUDIT) if row["action"] == action]


async def state_of(
    harness: Harness, logged_endpoint: LoggedEndpoint, place: int
) -> tuple[str, bool]:
    [row] = await harness.rows(
        "SELECT state, is_replay FROM deliveries WHERE merchant_id = $1 AND event_id = $2",
        logged_endpoint.ids[place],
    )
    return row["state"], row["is_replay"]


async def test_each_delivery_gap_is_listed_with_a_link(
    clerk: Clerk, logged_endpoint: LoggedEndpoint
) -> None:
    page = await clerk.get(logged_endpoint.path)

    assert "Sent 1 to 3, acknowledged all but 2." in page.text
    assert "1 more is waiting for its first attempt." in page.text
    for place in (1, 2):
        address = clerk.at(f"{logged_endpoint.path}/deliveries/{logged_endpoint.ids[place]}")
        assert f'<li><a href="{address}">' in page.text
    assert "failed</li>" in page.text
    from_third = await clerk.get(f"{logged_endpoint.path}?from=3")
    assert "Sent 3 to 3, acknowledged all but 1." in from_third.text


async def test_filters_narrow_the_delivery_log(
    clerk: Clerk, logged_endpoint: LoggedEndpoint
) -> None:
    def rows(text: str) -> int:
        return text.partition('id="log"')[2].count("/deliveries/")

    assert rows((await clerk.get(f"{logged_endpoint.path}?type=CHECKPOINT_REACHED")).text) == 4
    assert rows((await clerk.get(f"{logged_endpoint.path}?state=GIVEN_UP")).text) == 1
    assert rows((await clerk.get(f"{logged_endpoint.path}?type=DISPUTED")).text) == 0
    assert rows((await clerk.get(f"{logged_endpoint.path}?claim=99999999")).text) == 0
    assert rows((await clerk.get(f"{logged_endpoint.path}?after=none&state=no&claim=x")).text) > 0


async def test_a_delivery_shows_its_attempts_and_its_escaped_body(
    clerk: Clerk, logged_endpoint: LoggedEndpoint
) -> None:
    page = await clerk.get(logged_endpoint.given_up)

    assert page.text.count("1,240&nbsp;ms") == 3
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "Grüße &lt;1&gt;" in page.text
    assert "&#34;type&#34;:&#34;CHECKPOINT_REACHED&#34;" in page.text


async def test_a_test_event_shows_the_endpoints_response_as_text(
    clerk: Clerk, harness: Harness
) -> None:
    async with a_receiver(answers(418, MARKUP)) as receiver:
        new = await an_endpoint(harness, receiver.url)
        await clerk.get(f"/webhooks/{new.endpoint_id}")
        page = await clerk.send(f"/webhooks/{new.endpoint_id}/test")

    assert len(receiver.received) == 1
    assert page.status_code == 200
    assert "Not acknowledged" in page.text
    assert "<dd>418</dd>" in page.text
    assert "<script>alert" not in page.text
    assert await harness.rows("SELECT FROM delivery_attempts WHERE merchant_id = $1") == []
    assert len(await audited(harness, "endpoint.test")) == 1


async def test_a_new_secret_is_shown_once(
    clerk: Clerk, harness: Harness, logged_endpoint: LoggedEndpoint
) -> None:
    form = read_fields((await clerk.get(f"{logged_endpoint.path}/secret")).text)

    shown = await clerk.post(f"{logged_endpoint.path}/secret", form)
    again = await clerk.post(f"{logged_endpoint.path}/secret", form)
    later = await clerk.get(f"{logged_endpoint.path}/secret")

    secret = _SECRET.findall(shown.text)[0]
    assert secret != logged_endpoint.new.secret
    assert "24 hours from now" in shown.text
    assert again.status_code == 409
    assert _SECRET.findall(again.text) == _SECRET.findall(later.text) == []
    assert "The secret was rotated recently" in later.text
    [row] = await audited(harness, "endpoint.rotate_secret")
    until = (harness.clock.now() + timedelta(hours=24)).isoformat()
    assert (row["before"]["previousUntil"], row["after"]["previousUntil"]) == (None, until)
    assert secret not in str(dict(row))


async def test_one_delivery_is_replayed_once(
    clerk: Clerk, harness: Harness, logged_endpoint: LoggedEndpoint
) -> None:
    form = read_fields((await clerk.get(logged_endpoint.given_up)).text)

    first = await clerk.follow(await clerk.post(logged_endpoint.given_up, form))
    second = await clerk.follow(await clerk.post(logged_endpoint.given_up, form))

    assert "The delivery is sent again" in first.text
    assert "The delivery was not sent again" in second.text
    assert await state_of(harness, logged_endpoint, 1) == ("PENDING", True)
    assert len(await audited(harness, "delivery.replay")) == 1


async def test_all_failed_deliveries_since_a_day_are_replayed(
    clerk: Clerk, harness: Harness, logged_endpoint: LoggedEndpoint
) -> None:
    token = read_fields((await clerk.get(logged_endpoint.path)).text)["token"]
    tomorrow = (harness.clock.now() + timedelta(days=1)).date().isoformat()

    none = await clerk.follow(
        await clerk.post(f"{logged_endpoint.path}/replay", {"token": token, "since": tomorrow})
    )
    bad = await clerk.post(f"{logged_endpoint.path}/replay", {"token": token, "since": "then"})
    assert "0 deliveries are sent again" in none.text
    assert (bad.status_code, "Enter a valid date" in bad.text) == (422, True)
    assert await state_of(harness, logged_endpoint, 1) == ("GIVEN_UP", False)

    today = harness.clock.now().date().isoformat()
    page = await clerk.follow(
        await clerk.post(f"{logged_endpoint.path}/replay", {"token": token, "since": today})
    )
    assert "1 delivery is sent again" in page.text
    assert await state_of(harness, logged_endpoint, 1) == ("PENDING", True)


async def test_the_list_and_the_page_show_since_when_an_endpoint_fails(
    clerk: Clerk, logged_endpoint: LoggedEndpoint, harness: Harness
) -> None:
    assert "ailing since" not in (await clerk.get("/webhooks")).text
    await harness.rows(
        "UPDATE webhook_endpoints SET first_failure_at = '2026-03-02T09:03:00Z'"
        " WHERE merchant_id = $1 RETURNING 1"
    )
    at = '<time datetime="2026-03-02T10:03:00+01:00">'
    assert f"failing since {at}" in (await clerk.get("/webhooks")).text
    page = (await clerk.get(logged_endpoint.path)).text
    assert f"<dt>Failing since</dt><dd>{at}" in page


async def test_a_disabled_endpoint_shows_its_figures_and_can_be_enabled(
    clerk: Clerk, harness: Harness, logged_endpoint: LoggedEndpoint
) -> None:
    token = read_fields((await clerk.get(logged_endpoint.path)).text)["token"]
    await harness.rows(
        "UPDATE webhook_endpoints SET disabled_at = $2, first_failure_at = $2, probe_at = $2,"
        " disabled_reason = 'FAILING' WHERE merchant_id = $1", harness.clock.now(),
    )  # fmt: skip

    page = await clerk.get(logged_endpoint.path)
    assert "consecutive failed attempts" in page.text
    assert "2 pending deliveries." in page.text
    done = await clerk.follow(await clerk.post(f"{logged_endpoint.path}/on", {"token": token}))
    twice = await clerk.follow(await clerk.post(f"{logged_endpoint.path}/on", {"token": token}))

    assert "Endpoint enabled." in done.text
    assert "The endpoint is already enabled." in twice.text
    assert len(await audited(harness, "endpoint.switch_on")) == 1


async def test_the_address_of_an_action_redirects_to_the_endpoint(
    clerk: Clerk, logged_endpoint: LoggedEndpoint
) -> None:
    for last in ("test", "on", "replay"):
        answer = await clerk.get(f"{logged_endpoint.path}/{last}")
        assert answer.headers["Location"] == clerk.at(logged_endpoint.path)
