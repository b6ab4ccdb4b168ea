"""Runs schemathesis over the served document, against the application on a socket of this machine.
This module prepares the ids that its requests use and describes its findings."""

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import CheckNode

from tests.support.example_data import ExampleClaim

Document = dict[str, Any]


@dataclass
class ContractRun:
    # The findings as sentences.
    findings: list[str] = field(default_factory=list)
    # Operations that succeeded at least once, as "GET /path".
    reached: set[str] = field(default_factory=set)


def with_ids(document: Document, example_claims: Mapping[str, ExampleClaim]) -> Document:
    """Return the document reduced to the paths that have test data, with path parameters and
    examples limited to existing ids, because an invented id would only show how unknown ids are
    refused. `example_claims` holds the data by operationId, for all operations of a path or none.
    """
    narrowed = copy.deepcopy(document)
    for path, operations in document["paths"].items():
        for method, described in operations.items():
            if described["operationId"] in example_claims:
                _narrow(narrowed["paths"][path][method], example_claims[described["operationId"]])
            else:
                narrowed["paths"].pop(path, None)
    return narrowed


def _narrow(operation: Document, example_claim: ExampleClaim) -> None:
    ids = example_claim.list_ids()
    given = operation.get("parameters", [])
    if "requestBody" in operation:
        # With a constant key, every request after the first would be refused as an
        # IdempotencyConflict, and its body would not be tested.
        given[:] = [each for each in given if each["name"] != "Idempotency-Key"]
    for parameter in given:
        if parameter["in"] == "path" and parameter["name"] in ids:
            parameter["schema"] = {**parameter["schema"], "enum": [ids[parameter["name"]]]}
            parameter["example"] = ids[parameter["name"]]
        elif parameter["name"] == "Idempotency-Key":
            parameter["example"] = operation["operationId"]
        elif parameter["name"] == "cursor":
            parameter.pop("example", None)
        elif "example" in parameter:
            parameter["example"] = example_claim.translate(parameter["example"])
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        content["example"] = example_claim.translate(content["example"])
        if media_type.startswith("multipart"):
            # The example names a file that schemathesis does not have.
            del content["example"]


async def run_contract(origin: str, document: Document, settings: dict[str, Any]) -> ContractRun:
    """Run schemathesis. `settings` are those of a schemathesis.toml."""
    return await asyncio.to_thread(_run, origin, document, settings)


def _run(origin: str, document: Document, settings: dict[str, Any]) -> ContractRun:
    config = SchemathesisConfig.from_dict({**settings, "base-url": f"{origin}/api"})
    schema = schemathesis.openapi.from_dict(document, config=config)
    run = ContractRun()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            _note(run, event)
        elif isinstance(event, events.NonFatalError):
            run.findings.append(f"{event.label}: {event.value!r}")
        elif isinstance(event, events.FatalError):
            raise event.exception
    return run


def _note(run: ContractRun, event: events.ScenarioFinished) -> None:
    recorder = event.recorder
    for checks in recorder.checks.values():
        run.findings += [_describe(event, check) for check in checks if check.failure_info]
    for case_id, interaction in recorder.interactions.items():
        if interaction.response is not None and interaction.response.status_code == 200:
            run.reached.add(recorder.cases[case_id].value.operation.label)


def _describe(event: events.ScenarioFinished, check: CheckNode) -> str:
    info = check.failure_info
    assert info is not None
    where = f"{event.label} [{event.phase.value}] {check.name}"
    return f"{where}: {info.failure.title}. {info.failure.message}\n  {info.code_sample}"
