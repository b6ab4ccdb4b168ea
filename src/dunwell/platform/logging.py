"""Logs: one JSON object per line on stderr, which has only fields of an allow-list.

Names, addresses, texts and amounts of debtors never reach a log. A field that is not on the list is
dropped, and only the class and the code locations of an exception are logged. Messages of libraries
pass the same filter. An event is logged with `once_a_minute` if many places repeat it while
something is unavailable; only one line per minute is written for each such event.
"""

import logging
import sys
import time
import traceback
from collections.abc import Callable, MutableMapping
from types import TracebackType
from typing import Any
from uuid import UUID

import structlog

FIELDS = frozenset(
    {
        # fields of every line
        "at", "level", "event", "process", "logger",
        # ids
        "pid", "merchant_id", "claim_id", "workflow_id", "version_id", "step_id", "run", "item_id",
        "communication_id", "event_id", "endpoint_id", "payment_id", "ticket_id", "hold_id",
        "credential_id", "request_id", "lease_id", "payment_request_id", "notice_id",
        "report_id", "batch", "uid", "attachment_id", "collection_id", "email_id", "entry_id",
        "file_id", "mandate_id", "movement_id", "refund_id",
        # names that operators and merchants have given, and names of files
        "account", "connection", "secret_name", "file",
        # a row, by its table and the values of its key
        "table", "owner",
        # counts
        "count", "claims", "steps", "events", "deliveries", "communications", "rows", "attempts",
        "faults", "sequence", "size_bytes", "number",
        # states and kinds
        "state", "status", "outcome", "type", "channel", "adapter", "provider", "loop",
        "program", "task",
        "method", "route", "profile", "exit_code", "code", "revision", "port", "proxy",
        # durations
        "duration_ms", "pause_seconds", "retry_after",
        # dates and times
        "failing_since", "reported_until",
        # the times of two clocks
        "host_clock", "database_clock",
        # the number of similar lines that were left out since the last one
        "left_out",
        # errors: a class name and code locations; why something failed, in a text of ours or of an
        # operator's server, without personal data
        "error", "trace", "reason",
    }
)  # fmt: skip
_MAX_TEXT = 200
# Libraries whose messages are known to be constant. For all others only the logger's name is
# logged.
_CONSTANT_MESSAGES = ("uvicorn", "dunwell")
_TRACE_LINES = 5
_MINUTE = 60.0

_Event = MutableMapping[str, Any]


def configure_logging(level: str, process: str) -> None:
    """Send the records of structlog and of the standard library to stderr from `level` upwards."""
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            OncePerMinute(),
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", key="at"),
            _describe_exception,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(process))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(number, logging.INFO))
    logging.getLogger("dunwell").setLevel(number)
    # uvicorn's routine messages are logged elsewhere or say nothing new.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


class OncePerMinute:
    """A structlog processor that drops an event with `once_a_minute` if the same event was written
    within the last minute. The next line says how many were left out."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._written_at: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def __call__(self, _logger: Any, _method: str, event: _Event) -> _Event:
        """Return the event, with the number of left-out lines if there are any. Raises DropEvent if
        the line is left out."""
        if not event.pop("once_a_minute", False):
            return event
        name, now = event["event"], self._monotonic()
        if now - self._written_at.get(name, -_MINUTE) < _MINUTE:
            self._left_out[name] = self._left_out.get(name, 0) + 1
            raise structlog.DropEvent
        self._written_at[name] = now
        left_out = self._left_out.pop(name, 0)
        if left_out:
            event["left_out"] = left_out
        return event


class LineFormatter(logging.Formatter):
    """Renders a record of structlog or of a library as one line of allowed fields."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process
        self._render = structlog.processors.JSONRenderer()

    def format(self, record: logging.LogRecord) -> str:
        event = dict(record.msg) if isinstance(record.msg, dict) else _describe_record(record)
        event["process"] = self._process
        kept = filter_allowed_fields(event)
        return str(self._render(None, "", kept))


def filter_allowed_fields(event: _Event) -> _Event:
    """Return the event's allowed fields, those of every line first, with long texts cut."""
    first = ("at", "level", "process", "event")
    names = [*first, *sorted(event.keys() - set(first))]
    return {name: _shorten(event[name]) for name in names if name in event and name in FIELDS}


def _describe_record(record: logging.LogRecord) -> dict[str, Any]:
    """Return a library's record: only its constant message, never the values in it."""
    is_plain = record.name.split(".")[0] in _CONSTANT_MESSAGES
    described: dict[str, Any] = {
        "at": structlog.processors.TimeStamper(fmt="iso", key="at")(None, "", {})["at"],
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": str(record.msg).strip() if is_plain else "a library's message",
    }
    if record.exc_info and record.exc_info[1] is not None:
        described |= describe_error(record.exc_info[1])
    return described


def _describe_exception(_logger: Any, _method: str, event: _Event) -> _Event:
    exc_info = event.pop("exc_info", None)
    error = sys.exc_info()[1] if exc_info is True else exc_info
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        event.update(describe_error(error))
    return event


def describe_error(error: BaseException) -> dict[str, Any]:
    """Describe an exception without its message: its class, its cause's class and the last code
    locations."""
    names = [type(error).__name__]
    if error.__cause__ is not None:
        names.append(type(error.__cause__).__name__)
    return {"error": " from ".join(names), "trace": _list_places(error.__traceback__)}


def _list_places(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)[-_TRACE_LINES:]
    return [f"{_shorten_path(each.filename)}:{each.lineno} {each.name}" for each in frames]


def _shorten_path(path: str) -> str:
    for mark in ("/site-packages/", "/src/"):
        if mark in path:
            return path.rsplit(mark, 1)[1]
    return path.rsplit("/", 1)[-1]


def _shorten(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_shorten(each) for each in value]
    if isinstance(value, str | UUID):
        return str(value)[:_MAX_TEXT]
    return type(value).__name__
