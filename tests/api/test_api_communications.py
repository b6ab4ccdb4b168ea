"""The communications of a claim: time, recipient, step, state and text."""

import json
import re
from typing import Any

from tests.support.api import Api, Client


async def read_list(client: Client, claim_id: int, **params: str | int) -> dict[str, Any]:
    answer = await client.get(f"/claims/{claim_id}/communications", params=params)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


async def test_a_sent_communication_is_listed_with_its_text(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await api.harness.run()
    [event] = await api.harness.events(claim_id)

    [sent] = (await read_list(api.nordwind, claim_id))["items"]

    assert sent["reference"] == event["claim"]["communication"]["reference"]
    assert sent["channel"] == event["claim"]["communication"]["channel"]
    assert sent["actionStep"] == event["actionStep"]
    assert sent["claimId"] == claim_id
    assert (sent["state"], sent["heldBy"], sent["failure"]) == ("ACCEPTED", None, None)
    assert sent["version"] == "v1.0"
    assert sent["recipient"] == "erika@example.org"
    assert sent["handedOverAt"] is not None
    assert sent["settledAt"] is not None
    assert sent["text"]
    assert sent["attachments"] == []


async def test_a_communication_is_read_by_the_reference_in_its_event(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await api.harness.run()
    [listed] = (await read_list(api.nordwind, claim_id))["items"]

    answer = await api.nordwind.get(f"/communications/{listed['reference']}")

    assert answer.json()["result"] == listed


async def test_the_token_of_a_link_is_masked(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await api.harness.run()
    [message] = [each for channel in api.harness.channels for each in channel.sent]
    tokens = set(re.findall(r"/q/([\w-]{22})", f"{message.body_text} {message.body_html}"))

    shown = json.dumps(await read_list(api.nordwind, claim_id))

    assert len(tokens) == 1
    assert not [token for token in tokens if token in shown]
    assert "/q/" in shown


async def test_a_planned_communication_has_no_text_yet(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await api.harness.rows(
        "INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place,"
        " channel, not_before, planned_at, held_by) SELECT $1, gen_random_uuid(), claim_id, run, 1,"
        " 0, 'EMAIL', now(), now(), 'GUARD_DAY' FROM claims WHERE merchant_id = $1"
    )

    [planned] = (await read_list(api.nordwind, claim_id))["items"]

    assert (planned["state"], planned["heldBy"]) == ("PLANNED", "GUARD_DAY")
    assert planned["actionStep"]["name"] is not None
    words = ("version", "recipient", "language", "subject", "text", "html", "handedOverAt")
    assert {planned[name] for name in words} == {None}


async def test_pages_contain_every_communication_once_newest_first(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await api.harness.rows(
        "INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place,"
        " channel, not_before, planned_at) SELECT $1, gen_random_uuid(), claim_id, run, 9, n,"
        " 'EMAIL', now(), now() + n / 2 * interval '1 s' FROM claims, generate_series(1, 5) n"
        " WHERE merchant_id = $1"
    )
    whole = (await read_list(api.nordwind, claim_id))["items"]
    read: list[Any] = []
    further: dict[str, str] | None = {}
    while further is not None:
        page = await read_list(api.nordwind, claim_id, limit=2, **further)
        read += page["items"]
        further = {"cursor": page["nextCursor"]} if page["nextCursor"] else None

    assert len(read) == 5
    assert read == whole
    keys = [(each["plannedAt"], each["reference"]) for each in read]
    assert keys == sorted(keys, reverse=True)
