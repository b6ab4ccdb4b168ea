"""Runs schemathesis over the served document against the application on a socket of this machine.

What it generates and checks is its own; here is with which ids it is let in, and how its findings
are told.
"""

import asyncio
import copy
from collections.abc import Iterator, Mapping
from typing import Any

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import CheckNode

Document = dict[str, Any]


def with_ids(document: Document, ids: Mapping[str, Any]) -> Document:
    """The document, its path parameters narrowed to things that exist: a made-up id only shows
    how absent things are refused. ids: the value by the parameter's name."""
    narrowed = copy.deepcopy(document)
    for operations in narrowed["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path" and parameter["name"] in ids:
                    parameter["schema"] = {**parameter["schema"], "enum": [ids[parameter["name"]]]}
                    parameter["example"] = ids[parameter["name"]]
    return narrowed


async def run_contract(origin: str, document: Document, settings: dict[str, Any]) -> list[str]:
    """What was found, in words. settings: as in a schemathesis.toml."""
    return await asyncio.to_thread(lambda: list(_run(origin, document, settings)))


def _run(origin: str, document: Document, settings: dict[str, Any]) -> Iterator[str]:
    config = SchemathesisConfig.from_dict({**settings, "base-url": f"{origin}/api"})
    schema = schemathesis.openapi.from_dict(document, config=config)
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            for checks in event.recorder.checks.values():
                yield from (_describe(event, check) for check in checks if check.failure_info)
        elif isinstance(event, events.NonFatalError):
            yield f"{event.label}: {event.value!r}"
        elif isinstance(event, events.FatalError):
            raise event.exception


def _describe(event: events.ScenarioFinished, check: CheckNode) -> str:
    info = check.failure_info
    assert info is not None
    where = f"{event.label} [{event.phase.value}] {check.name}"
    return f"{where}: {info.failure.title}. {info.failure.message}\n  {info.code_sample}"
