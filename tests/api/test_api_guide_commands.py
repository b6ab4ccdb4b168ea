"""The commands in the guides are valid requests and have the described results."""

import json
import re
from dataclasses import replace
from datetime import date
from typing import Any

import jsonschema
import pytest

from dunwell.adapters.channels.outbox.channel import Behaviour, find_behaviour
from dunwell.interfaces.api.catalogue import OPERATIONS
from dunwell.interfaces.api.reference.document import build_document
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api, find_operation
from tests.support.guides import FOLDER, GUIDES, GuideCommand, fill, read_blocks, read_commands

# Values that readers of the pages fill in.
OPEN = {"MERCHANT": 1, "CLAIM": 4711, "PAYMENT": "x", "MODALITY": "x", "WORKFLOW": "x"}
COMMANDS = [
    (guide, command)
    for guide in GUIDES
    for command in read_commands(guide)
    if "INV-2026-0816" not in (command.body or "")  # The quick start shows this claim as a mistake.
]


def sample(guide: str, place: int) -> Any:
    return json.loads(read_blocks(guide, "json")[place])


@pytest.mark.parametrize(
    "command",
    [command for _, command in COMMANDS],
    ids=[f"{guide}: {command.method} {command.path}" for guide, command in COMMANDS],
)
def test_every_command_is_a_documented_request(command: GuideCommand) -> None:
    known = {**OPEN, **command.variables}
    operation = find_operation(command.method, fill(command.path, known))
    assert operation is not None
    assert command.headers["Authorization"] == "Bearer $TOKEN"
    taken = operation.get("requestBody", {"content": {}})["content"]
    if command.body is not None:
        media_type = command.headers["Content-Type"]
        if media_type not in taken:
            assert f"`{media_type}`" in operation["requestBody"]["description"]
            media_type = "application/json"
        schema = taken[media_type]["schema"]
        whole = {**schema, "components": build_document()["components"]}
        body = json.loads(fill(command.body, known))
        jsonschema.Draft202012Validator(whole).validate(body)
    elif command.parts:
        assert set(command.parts) == taken["multipart/form-data"]["schema"]["properties"].keys()
    asked = set(re.findall(r"[?&](\w+)=", command.path))
    assert asked <= {each["name"] for each in operation["parameters"]}


async def test_the_commands_of_the_sandbox_guide_have_the_described_results(sandbox: Api) -> None:
    client, commands = sandbox.nordwind, iter(read_commands("sandbox"))
    clock = await next(commands).send(client)
    assert clock.json() == sample("sandbox", 0)
    [created] = (await next(commands).send(client)).json()["result"]
    moved = await next(commands).send(client)
    assert moved.json() == sample("sandbox", 1)
    communications = await next(commands).send(client, CLAIM=created["id"])
    assert [each["state"] for each in communications.json()["result"]["items"]] == ["ACCEPTED"]
    events = await next(commands).send(client)
    types = {each["type"] for each in events.json()["result"]["items"]}
    assert types == {"ESCALATED", "FEE_ADDED", "CHECKPOINT_REACHED"}
    explained = await next(commands).send(client, CLAIM=created["id"])
    assert explained.json()["result"]["nextStep"]["kind"] == "ARCHIVE"
    [failing] = (await next(commands).send(client)).json()["result"]
    assert failing["error"] is None
    paid = await next(commands).send(client, CLAIM=created["id"])
    assert paid.json()["error"] is None
    claim = (await client.get(f"/claims/{created['id']}")).json()["result"]
    assert claim["status"] == "COLLECTED"
    assert list(commands) == []


def test_the_sandbox_guide_lists_every_simulated_failure() -> None:
    text = (FOLDER / "sandbox.md").read_text()
    rows = re.findall(r"^\| `\+([a-z-]+)` \| `(\d{6})` \|", text, re.MULTILINE)
    mode = {"is_sandbox": True, "is_development": False}
    for word, digits in rows:
        expected = Behaviour(word)
        assert find_behaviour("EMAIL", f"erika+{word}@example.org", **mode) is expected
        assert find_behaviour("LETTER", f"Erika\nHof 1 +{word}", **mode) is expected
        assert find_behaviour("SMS", f"+49151{digits}", **mode) is expected
    kept = {each for each in Behaviour if find_behaviour("EMAIL", f"e+{each}@x.org", **mode)}
    assert {word for word, _ in rows} == kept


async def test_the_commands_of_the_workflow_guide_list_and_assign(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    listing, starting, assigning, explaining = read_commands("workflows")
    [listed] = (await listing.send(api.nordwind)).json()["result"]
    assert listed.keys() == sample("workflows", 0)[0].keys()
    started = await starting.send(api.nordwind, CLAIM=claim_id)
    assert started.json()["result"] == {"claimId": claim_id, "workflowId": listed["id"]}
    assert started.json()["result"].keys() == sample("workflows", 1).keys()
    refused = await assigning.send(api.nordwind, WORKFLOW=listed["id"])
    expected = sample("workflows", 2)
    missing = {**expected["error"]["details"]["errors"][0], "claimId": 4711}
    expected["error"]["details"]["errors"].insert(0, missing)
    assert (refused.status_code, refused.json()) == (422, expected)
    explained = (await explaining.send(api.nordwind, CLAIM=claim_id)).json()["result"]
    rows = set(re.findall(r"^\| (`.*`) \|", (FOLDER / "workflows.md").read_text(), re.MULTILINE))
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert names <= explained.keys()


async def test_the_migration_guide_shows_the_refusal_before_the_switch(
    resources: Resources, clock: MovableClock
) -> None:
    async with an_api(resources, clock, switched_to_workflows=False) as api:
        path = f"/assignments/workflows/{api.version.workflow_id}"
        refused = await api.nordwind.post(path, {"claimIds": [4711]})
    assert refused.json() == sample("migration-to-workflows", 0)


async def test_the_deprecation_guide_shows_the_sent_headers(
    resources: Resources, clock: MovableClock
) -> None:
    settings = replace(
        resources.settings,
        scenarios_deprecated_on=date(2027, 1, 1),
        scenarios_retired_on=date(2027, 7, 1),
    )
    announced = replace(resources, settings=settings)
    [block] = read_blocks("deprecations", "http")
    async with an_api(announced, clock, switched_to_workflows=False) as api:
        answer = await api.nordwind.get("/scenarios")
    for line in block.splitlines():
        name, _, value = line.partition(": ")
        assert answer.headers[name] == value


def test_the_deprecation_guide_names_every_legacy_endpoint_and_field() -> None:
    text = (FOLDER / "deprecations.md").read_text()
    rows = re.findall(r"^\| `(GET|POST) ([^`]+)` \|", text, re.MULTILINE)
    shown = {(method, re.sub(r"<[^>]+>", "{}", path)) for method, path in rows}
    legacy = {
        (each.method, re.sub(r"\{\w+\}", "{}", each.path)) for each in OPERATIONS if each.is_legacy
    }
    assert shown == legacy
    fields = build_document()["components"]["schemas"]["EventClaim"]["properties"]
    deprecated = {name for name in fields if "eprecated" in fields[name].get("description", "")}
    assert deprecated == set(re.findall(r"`claim\.(\w+)`", text))
