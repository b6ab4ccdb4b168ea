"""A step as a form, and the step that a form says. Pure."""

from collections.abc import Mapping
from typing import Any

from dunwell.portal.processes import condition_form
from dunwell.portal.processes.condition_form import read_condition, show_condition
from dunwell.portal.processes.fields import Given, Manner, Reader, Shown

KINDS = ("COMMUNICATION", "WAIT", "FEE", "CHECKPOINT")
CHANNELS = ("EMAIL", "SMS", "LETTER")
_FALLBACKS = ("fallback1", "fallback2")
# Place in the step -> field, for faults.
FIELDS: Mapping[str, str] = {
    **condition_form.FIELDS,
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
