"""The forms of a draft's parts (a step or the settings), and saving the values that were
entered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.workflow_overviews import DraftOverview, get_draft_overview
from dunwell.core.workflows.drafts.edit_draft import PartEdit, edit_draft
from dunwell.core.workflows.versions.differences import compare_part
from dunwell.core.workflows.versions.parts import STEP_ORDER, find_step_id
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.workflows.views import PartConflict
from dunwell.interfaces.web.condition_form import (
    CONDITION_FIELDS,
    build_condition,
    build_field_values,
)
from dunwell.interfaces.web.forms import (
    AmountFormat,
    Field,
    FieldFaults,
    FieldKind,
    Form,
    FormContent,
    build_form,
)
from dunwell.platform.errors import EditConflict, ValidationError
from dunwell.platform.text.differences import compute_revision

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
STEP_KINDS = tuple(_STEP_FIELDS)
# The values of a new step, by its kind.
_DEFAULT_VALUES: Mapping[str, Mapping[str, Any]] = {
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


def open_step_form(kind: str, step: Mapping[str, Any] | None, amounts: AmountFormat) -> Form:
    """Return the form of a step. `step` is its JSON form, with or without default values; None
    opens the form of a new step."""
    values = {**_DEFAULT_VALUES[kind], "offset": None, **(step or {})}
    values["fallbacks"] = {
        str(index): each for index, each in enumerate(values.get("fallbacks", ()))
    }
    is_business = values.get("businessDays") is not None
    values["days"] = values.get("businessDays" if is_business else "days")
    values["unit"] = "businessDays" if is_business else "days"
    values["when"] = build_field_values(values.get("when"))
    fields = (Field("name"), *_STEP_FIELDS[kind], *CONDITION_FIELDS)
    return build_form(fields, values, amounts)


def build_step(
    kind: str, content: FormContent, stored: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the step that a form describes, as JSON and without its id. `stored` is the step in
    the draft."""
    parts = content.parts
    step = {"kind": kind, "name": "", **_DEFAULT_VALUES[kind], **parts}
    if kind == "COMMUNICATION":
        step["fallbacks"] = [*parts.get("fallbacks", {}).values()]
    elif kind == "WAIT" and step.pop("unit", "") == "businessDays" and "days" in step:
        step["businessDays"] = step.pop("days")
    step.pop("when", None)
    when = build_condition(content, (stored or {}).get("when"))
    return {**step, "when": when} if when else step


def open_settings_form(settings: Mapping[str, Any], amounts: AmountFormat) -> Form:
    """Return the form of the settings. `settings` is their JSON form, with or without default
    values."""
    values = {"processingStart": "CREATION", "feesNeedContact": True, **settings}
    return build_form(_SETTINGS_FIELDS, values, amounts)


def build_settings(content: FormContent) -> dict[str, Any]:
    """Return the settings that a form describes, as JSON. If all contact hours are empty,
    `contactHours` is None."""
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


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """The result of submitting a form. `is_saved` is true if the draft contains the entered
    values."""

    is_saved: bool
    problems: FieldFaults = ()
    conflict: PartConflict | None = None
    # The revision that the next save must match; "" means the one that is stored now.
    revision: str = ""


def get_amount_format(access: MerchantAccess, draft: DraftOverview, language: str) -> AmountFormat:
    currency = draft.definition.settings.currency or access.merchant.configuration.currency
    return AmountFormat(currency, language)


async def save_part(
    work: Work, workflow_id: UUID, edit: PartEdit, form: Form, content: FormContent
) -> PartOutcome:
    """Save the entered values, unless some are unreadable or the part has no valid structure."""
    work.require(Right.CONFIGURE)
    try:
        if not content.faults:
            await edit_draft(work, workflow_id, edit)
            return PartOutcome(is_saved=True)
    except EditConflict as conflict:
        return PartOutcome(
            is_saved=False,
            conflict=build_part_conflict(conflict, edit.value),
            revision=compute_revision(conflict.current),
        )
    except ValidationError:
        pass
    return await check_part(work, workflow_id, edit, form=form, content=content)


async def check_part(
    work: Work, workflow_id: UUID, edit: PartEdit, *, form: Form, content: FormContent
) -> PartOutcome:
    """Check the entered values without saving them."""
    work.require(Right.CONFIGURE)
    draft = await get_draft_overview(work, workflow_id, {edit.part: edit.value})
    problems = content.combine_faults(locate_part_faults(draft, edit.part, form))
    return PartOutcome(is_saved=False, problems=problems, revision=edit.expected_revision)


def build_part_conflict(conflict: EditConflict, typed: Any) -> PartConflict:
    """Return the conflict: the last change, and the differences of the stored part from the
    entered one."""
    stored = conflict.current
    differences = None
    if stored is not None:
        complete = {**dict.fromkeys(stored), **typed}
        differences = compare_part(conflict.part, stored, complete)
    return PartConflict(conflict.change, differences, stored is None)


def locate_part_faults(draft: DraftOverview, part: str, form: Form) -> FieldFaults:
    """Return the faults of a part, each with the name of its field. A fault of a wait as a whole is
    shown next to its days."""
    names = [each.name for each in form.fields]
    return form.locate_faults(
        draft.faults, get_part_pointer(draft, part), "days" if "days" in names else ""
    )


def get_part_pointer(draft: DraftOverview, part: str) -> str:
    """Return the JSON pointer of a part in the document."""
    step_id = find_step_id(part)
    if step_id is None:
        return f"/{part}"
    order: list[int] = draft.parts.get(STEP_ORDER, [])
    # A new step is the last one.
    return f"/steps/{order.index(step_id) if step_id in order else len(order)}"
