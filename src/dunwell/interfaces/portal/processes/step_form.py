"""A step as a form, and the step that a form says. Of its condition each property has fields, empty
where it is not asked for. Pure."""

from collections.abc import Mapping
from typing import Any

from dunwell.interfaces.portal.processes.fields import (
    Given,
    Manner,
    Reader,
    Shown,
    drop_nothing,
    read_several,
    write_several,
)

KINDS = ("COMMUNICATION", "WAIT", "FEE", "CHECKPOINT")
CHANNELS = ("EMAIL", "SMS", "LETTER")
_FALLBACKS = ("fallback1", "fallback2")
# Of a condition.
_MONEY = ("outstanding", "total")
_NUMBERS = ("age", "primaryAgeDays")
_CODES = ("country", "language")
_TICKS = ("itemType", "has")
_TEXTS = ("email", "mobileNumber", "city", "postalCode")
_TESTS = ("equals", "startsWith", "endsWith")
_ROOT = "when"
# Place in the step -> field, for faults.
_CONDITION_FIELDS: Mapping[str, str] = (
    {f"{_ROOT}.{name}": f"{_ROOT}.{name}.min" for name in (*_MONEY, *_NUMBERS)}
    | {
        place: place
        for name in (*_MONEY, *_NUMBERS)
        for place in (f"{_ROOT}.{name}.min", f"{_ROOT}.{name}.max")
    }
    | {f"{_ROOT}.{name}": f"{_ROOT}.{name}" for name in (*_CODES, *_TICKS, "customFields")}
    | {f"{_ROOT}.{name}": f"{_ROOT}.{name}.equals" for name in _TEXTS}
    | {_ROOT: f"{_ROOT}.outstanding.min"}
)  # fmt: skip
# The same of a step, its condition with it.
FIELDS: Mapping[str, str] = {
    **_CONDITION_FIELDS,
    **{
        name: name
        for name in (
            "name", "channel", "template", "send", "attachments", "days", "type", "value",
            "offset", "message",
        )
    },
    "fallbacks": "fallback1", "fallbacks.0": "fallback1", "fallbacks.1": "fallback2",
    "businessDays": "days",
    # What is wrong with a wait as a whole is told beside its days; of the others nothing is.
    "": "days",
}  # fmt: skip
_EMPTY: Mapping[str, Mapping[str, Any]] = {
    "COMMUNICATION": {"channel": "EMAIL", "template": ""},
    "WAIT": {},
    "FEE": {"type": "DUNNING_FEE", "value": ""},
    "CHECKPOINT": {"offset": "", "message": ""},
}


def begin_step(kind: str) -> dict[str, Any]:
    """What the form of a new step begins with."""
    return {"kind": kind, "name": "", **_EMPTY[kind]}


def show_step(step: Mapping[str, Any], manner: Manner) -> Shown:
    """step: as JSON, defaults left out or not."""
    kind = step["kind"]
    shown: Shown = {"name": step.get("name") or "", **show_condition(step.get("when"), manner)}
    if kind == "COMMUNICATION":
        fallbacks = [*(step.get("fallbacks") or []), "", ""]
        shown |= {
            "channel": step["channel"], "template": step["template"],
            "fallback1": fallbacks[0], "fallback2": fallbacks[1],
            "send": step.get("send") or "CONTACT_HOURS",
            "attachments": step.get("attachments") or "NONE",
        }  # fmt: skip
    elif kind == "WAIT":
        is_business = step.get("businessDays") is not None
        number = step.get("businessDays") if is_business else step.get("days")
        shown |= {
            "days": "" if number is None else str(number),
            "unit": "businessDays" if is_business else "days",
        }
    elif kind == "FEE":
        shown |= {"type": step["type"], "value": manner.write(step["value"])}
    else:
        shown |= {"offset": str(step["offset"]), "message": step["message"]}
    return shown


def read_step(
    kind: str, given: Given, manner: Manner, standing: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The step as JSON, without its id; what cannot be read stands as it was typed. standing: the
    step as the draft has it."""
    reader = Reader(given, manner)
    step: dict[str, Any] = {"kind": kind, "name": given.text("name"), **_READ[kind](reader)}
    when = read_condition(reader, (standing or {}).get("when"))
    return {**step, "when": when} if when else step


def _read_communication(reader: Reader) -> dict[str, Any]:
    fallbacks = [reader.text(name) for name in _FALLBACKS]
    return {
        "channel": reader.text("channel") or "EMAIL",
        "template": reader.given.text("template"),
        "fallbacks": [each for each in fallbacks if each],
        "send": reader.text("send") or "CONTACT_HOURS",
        "attachments": reader.text("attachments") or "NONE",
    }


def _read_wait(reader: Reader) -> dict[str, Any]:
    unit = "businessDays" if reader.text("unit") == "businessDays" else "days"
    number = reader.number("days")
    return {} if number is None else {unit: number}


def _read_fee(reader: Reader) -> dict[str, Any]:
    return {"type": reader.text("type") or "DUNNING_FEE", "value": reader.cents("value") or ""}


def _read_checkpoint(reader: Reader) -> dict[str, Any]:
    offset = reader.number("offset")
    return {"offset": 0 if offset is None else offset, "message": reader.given.text("message")}


_READ = {
    "COMMUNICATION": _read_communication,
    "WAIT": _read_wait,
    "FEE": _read_fee,
    "CHECKPOINT": _read_checkpoint,
}


def show_condition(when: Mapping[str, Any] | None, manner: Manner) -> Shown:
    when = when or {}
    shown: Shown = {}
    for name in (*_MONEY, *_NUMBERS):
        for end in ("min", "max"):
            value = (when.get(name) or {}).get(end)
            written = manner.write(value) if name in _MONEY else value
            shown[f"{_ROOT}.{name}.{end}"] = "" if value is None else str(written)
    for name in _CODES:
        shown[f"{_ROOT}.{name}"] = write_several(when.get(name))
    for name in _TICKS:
        value = when.get(name) or []
        shown[f"{_ROOT}.{name}"] = [value] if isinstance(value, str) else [*value]
    for name in _TEXTS:
        for test in _TESTS:
            shown[f"{_ROOT}.{name}.{test}"] = (when.get(name) or {}).get(test) or ""
    custom = [f"{name} = {value}" for name, value in (when.get("customFields") or {}).items()]
    shown[f"{_ROOT}.customFields"] = "\n".join(custom)
    return shown


def read_condition(reader: Reader, standing: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """None: the step has none. standing: what the draft has, which tells how one code stands."""
    standing = standing or {}
    read: dict[str, Any] = {}
    for name in (*_MONEY, *_NUMBERS):
        take = reader.cents if name in _MONEY else reader.number
        read[name] = drop_nothing({end: take(f"{_ROOT}.{name}.{end}") for end in ("min", "max")})
    for name in _CODES:
        read[name] = read_several(reader.codes(f"{_ROOT}.{name}"), standing.get(name))
    types = reader.ticked(f"{_ROOT}.itemType", standing.get("itemType"))
    read["itemType"] = read_several(types, standing.get("itemType"))
    read["has"] = reader.ticked(f"{_ROOT}.has", standing.get("has")) or None
    for name in _TEXTS:
        read[name] = drop_nothing({test: reader.text(f"{_ROOT}.{name}.{test}") for test in _TESTS})
    read["customFields"] = _read_custom(reader.text(f"{_ROOT}.customFields"))
    return drop_nothing(read)


def _read_custom(typed: str | None) -> dict[str, str] | None:
    """A line for each: name = value."""
    pairs = [line.partition("=") for line in (typed or "").splitlines() if line.strip()]
    return {name.strip(): value.strip() for name, _, value in pairs} or None
