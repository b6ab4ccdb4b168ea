"""A log line contains only listed fields, and only class and location of exceptions."""

import ast
import logging
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

import dunwell
from dunwell.platform.logging import FIELDS, LineFormatter, describe_error, filter_allowed_fields

CANARY = "erika.mustermann@example.org"


def a_record(name: str, message: str, *values: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, "x.py", 1, message, values, None)


def test_fields_that_are_not_listed_are_dropped() -> None:
    event = {"event": "created", "claim_id": 7, "email": CANARY, "count": 2}
    assert filter_allowed_fields(event) == {"event": "created", "claim_id": 7, "count": 2}


def test_values_are_plain_and_short() -> None:
    event_id = UUID(int=5)
    kept = filter_allowed_fields(
        {"event_id": event_id, "state": "x" * 500, "rows": [1], "type": {"a": 1}}
    )
    assert kept == {"event_id": str(event_id), "state": "x" * 200, "rows": [1], "type": "dict"}


def test_the_message_of_an_exception_is_not_logged() -> None:
    with pytest.raises(ValueError) as caught:
        int(CANARY)
    described = describe_error(caught.value)
    assert described["error"] == "ValueError"
    assert described["trace"][0].startswith("test_logging.py:")
    assert CANARY not in str(described)


def test_arguments_of_library_messages_are_not_logged() -> None:
    formatter = LineFormatter("web")
    assert CANARY not in formatter.format(a_record("uvicorn.error", "from %s", CANARY))
    assert "from %s" in formatter.format(a_record("uvicorn.error", "from %s", CANARY))
    assert CANARY not in formatter.format(a_record("asyncio", f"never retrieved: {CANARY}"))


def test_a_library_exception_is_logged_by_class() -> None:
    record = a_record("starlette", "failed")
    with pytest.raises(ValueError) as caught:
        int(CANARY)
    record.exc_info = (ValueError, caught.value, caught.tb)
    line = LineFormatter("web").format(record)
    assert '"error": "ValueError"' in line
    assert '"process": "web"' in line
    assert CANARY not in line


def test_the_fields_of_provider_events_are_allowed() -> None:
    event = {
        "event": "status file refused",
        "provider": "post",
        "uid": 7,
        "code": 550,
        "batch": "b",
    }
    assert filter_allowed_fields({**event, "recipient": "ada@example.org"}) == event


# What structlog and our processors take out of an event.
_INSTRUCTIONS = {"exc_info", "once_a_minute"}
_LEVELS = {"debug", "info", "warning", "error", "exception"}


def _list_logged_fields(source: str) -> Iterator[str]:
    """Yield the fields of every call of a logger named `log`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("log"), attr=level), keywords=fields):
                if level in _LEVELS:
                    yield from (each.arg for each in fields if each.arg is not None)


def test_every_field_that_the_code_logs_is_allowed() -> None:
    """A field that is not allowed is dropped without a word, and operators miss it."""
    dropped = {
        f"{path.name}: {field}"
        for path in Path(dunwell.__file__).parent.rglob("*.py")
        for field in _list_logged_fields(path.read_text())
        if field not in FIELDS | _INSTRUCTIONS
    }
    assert dropped == set()
