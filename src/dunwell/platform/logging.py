"""Logs: one JSON object a line on stderr, made of allow-listed fields only.

Names, addresses, texts and amounts of people never reach a log: a field that is not listed here is
dropped, and of an exception only its class and the places in the code are kept. What libraries
log passes through the same gate. What says `once_a_minute` repeats for as long as something is
away, from many places at once; one line a minute of each such event is kept.
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
        # what every line has
        "at", "level", "event", "process", "logger",
        # ids
        "pid", "merchant_id", "claim_id", "workflow_id", "version_id", "step_id", "run", "item_id",
        "communication_id", "event_id", "endpoint_id", "payment_id", "ticket_id", "hold_id",
        "credential_id", "request_id", "lease_id", "payment_request_id", "notice_id",
        "report_id", "batch", "uid",
        # counts
        "count", "claims", "steps", "events", "deliveries", "communications", "rows", "tries",
        "faults", "sequence", "size_bytes",
        # states and kinds
        "state", "status", "outcome", "type", "channel", "line", "adapter", "provider", "loop",
        "program", "task",
        "method", "route", "profile", "exit_code", "code", "revision", "port", "proxy",
        # durations
        "duration_ms", "pause_seconds", "retry_after",
        # the times that two clocks said
        "host_clock", "database_clock",
        # how many lines of the same event were left out since the last one
        "left_out",
        # faults: a class name, and places in the code
        "error", "trace",
    }
)  # fmt: skip
_MAX_TEXT = 200
# Libraries whose messages are known to be fixed words; of all others the logger's name is kept.
_PLAIN_SPOKEN = ("uvicorn", "dunwell")
_TRACE_LINES = 5
_MINUTE = 60.0

_Event = MutableMapping[str, Any]


def configure_logging(level: str, process: str) -> None:
    """Send structlog's and the standard library's records of `level` and above to stderr."""
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
    # What goes well there is told elsewhere, or every time the same.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


class OncePerMinute:
    """A processor of structlog that drops lines which say `once_a_minute`, when one of the same
    event was written in the last minute. The next one says how many were left out."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._written_at: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def __call__(self, _logger: Any, _method: str, event: _Event) -> _Event:
        """Raises DropEvent."""
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
    """Renders a record, structlog's or a library's, as one line of allow-listed fields."""

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
    """The event's allow-listed fields, what every line has first, texts cut short."""
    first = ("at", "level", "process", "event")
    names = [*first, *sorted(event.keys() - set(first))]
    return {name: _shorten(event[name]) for name in names if name in event and name in FIELDS}


def _describe_record(record: logging.LogRecord) -> dict[str, Any]:
    """A library's record: its message's fixed words only, never what was put into them."""
    is_plain = record.name.split(".")[0] in _PLAIN_SPOKEN
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
    given = event.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        event.update(describe_error(error))
    return event


def describe_error(error: BaseException) -> dict[str, Any]:
    """An exception without its words: the class, its cause's class, the last places in the code."""
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
