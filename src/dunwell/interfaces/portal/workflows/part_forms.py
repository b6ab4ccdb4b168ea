"""The forms of a workflow's parts: a step with its condition, and the settings. Pure."""

from collections.abc import Mapping
from typing import Any

from dunwell.interfaces.web.condition_form import (
    CONDITION_FIELDS,
    build_condition,
    flatten_condition,
)
from dunwell.interfaces.web.forms import (
    AmountFormat,
    Field,
    FieldKind,
    Form,
    FormContent,
    open_form,
)

CHANNELS = ("EMAIL", "SMS", "LETTER")
WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_STEP_FIELDS: Mapping[str, tuple[Field, ...]] = {
    "COMMUNICATION": (
        Field("template"),
        Field("channel", FieldKind.PICK, CHANNELS),
        Field("fallbacks.0", FieldKind.PICK, CHANNELS),
        Field("fallbacks.1", FieldKind.PICK, CHANNELS),
        Field("send", FieldKind.PICK),
        Field("attachments", FieldKind.PICK),
    ),
    "WAIT": (Field("days", FieldKind.NUMBER), Field("unit", FieldKind.PICK)),
    "FEE": (Field("type", FieldKind.PICK), Field("value", FieldKind.MONEY)),
    "CHECKPOINT": (Field("offset", FieldKind.NUMBER), Field("message", FieldKind.BLOCK)),
}
KINDS = tuple(_STEP_FIELDS)
# What a step says where its form says nothing.
_EMPTY: Mapping[str, Mapping[str, Any]] = {
    "COMMUNICATION": {
        "channel": "EMAIL", "template": "", "fallbacks": [], "send": "CONTACT_HOURS",
        "attachments": "NONE",
    },
    "WAIT": {},
    "FEE": {"type": "DUNNING_FEE", "value": ""},
    "CHECKPOINT": {"offset": 0, "message": ""},
}  # fmt: skip
_SETTINGS_FIELDS = (
    Field("languages", FieldKind.CODES),
    Field("currency"),
    Field("timezone"),
    Field("processingStart", FieldKind.PICK),
    Field("contactHours.weekdays", FieldKind.PICKS, WEEKDAYS),
    Field("contactHours.from"),
    Field("contactHours.to"),
    Field("holidays.country"),
    Field("holidays.subdivision"),
    Field("feesNeedContact", FieldKind.FLAG),
    Field("latePolicy.skipIfOlderThanDays", FieldKind.NUMBER),
)


def open_step(kind: str, step: Mapping[str, Any] | None, amounts: AmountFormat) -> Form:
    """step: as JSON, defaults left out or not; None: a new one."""
    flat = {**_EMPTY[kind], "offset": None, **(step or {})}
    flat["fallbacks"] = {str(place): each for place, each in enumerate(flat.get("fallbacks", ()))}
    is_business = flat.get("businessDays") is not None
    flat["days"] = flat.get("businessDays" if is_business else "days")
    flat["unit"] = "businessDays" if is_business else "days"
    flat["when"] = flatten_condition(flat.get("when"))
    fields = (Field("name"), *_STEP_FIELDS[kind], *CONDITION_FIELDS)
    return open_form(fields, flat, amounts)


def build_step(
    kind: str, content: FormContent, stored: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The step that a form says, as JSON and without its id. stored: as the draft has it."""
    parts = content.parts
    step = {"kind": kind, "name": "", **_EMPTY[kind], **parts}
    if kind == "COMMUNICATION":
        step["fallbacks"] = [*parts.get("fallbacks", {}).values()]
    elif kind == "WAIT" and step.pop("unit", "") == "businessDays" and "days" in step:
        step["businessDays"] = step.pop("days")
    step.pop("when", None)
    when = build_condition(content, (stored or {}).get("when"))
    return {**step, "when": when} if when else step


def open_settings(settings: Mapping[str, Any], amounts: AmountFormat) -> Form:
    """settings: as JSON, defaults left out or not."""
    flat = {"processingStart": "CREATION", "feesNeedContact": True, **settings}
    return open_form(_SETTINGS_FIELDS, flat, amounts)


def build_settings(content: FormContent) -> dict[str, Any]:
    """The settings that a form says, as JSON. Without any contact hours there are none."""
    parts = content.parts
    absent = dict.fromkeys(("currency", "timezone", "contactHours", "holidays", "latePolicy"))
    settings = {**absent, "processingStart": "CREATION", **parts}
    hours = parts["contactHours"]
    if any(hours.values()):
        settings["contactHours"] = {"from": "", "to": "", **hours}
    else:
        settings["contactHours"] = None
    if "holidays" in parts:
        settings["holidays"] = {"country": "", "subdivision": None, **parts["holidays"]}
    return settings
