"""Find all faults of a workflow definition at once, each with its location (CONTRACT 6).

The types of `definition` check the shape, and other modules the rules. A part with a wrong shape
does not keep the others from being checked. `contact.messages` checks the templates' placeholders.
Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dunwell.core.workflows.definition import (
    Condition,
    Definition,
    ProcessSettings,
    Step,
    Template,
    Texts,
)
from dunwell.core.workflows.definition_rules import (
    find_condition_faults,
    find_settings_faults,
    find_step_faults,
)
from dunwell.core.workflows.reference import FIELD_DESCRIPTIONS
from dunwell.core.workflows.texts import find_text_faults
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.shape import Part, convert_if_valid, find_faults
from dunwell.platform.text.texts import find_unprintable, is_printable


def parse_definition(document: object) -> Definition:
    """Return the definition of a document with the right shape. Other faults are allowed, as in a
    draft. Raises ValidationError."""
    faults = [*find_faults(document, Definition), *find_unprintable(document)]
    if faults:
        raise ValidationError(list(dict.fromkeys(faults)))
    return msgspec.convert(document, Definition)


def find_definition_faults(document: object) -> list[Fault]:
    """Return all faults, with JSON pointers from the document's root. If empty, the definition is
    valid."""
    faults = find_faults(document, Definition)
    faults += find_unprintable(document)
    if isinstance(document, dict):
        faults += _find_rule_faults(document)
    return list(dict.fromkeys(faults))


def render_definition_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a definition, with descriptions, for editors and other
    programs."""
    schema = msgspec.json.schema(Definition)
    for part, descriptions in FIELD_DESCRIPTIONS.items():
        properties = schema["$defs"][part.__name__]["properties"]
        for field in msgspec.structs.fields(part):
            properties[field.encode_name]["description"] = descriptions[field.name].replace("`", "")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Dunwell workflow definition",
        **schema,
    }


def _find_rule_faults(document: Mapping[str, object]) -> list[Fault]:
    settings = convert_if_valid(document.get("settings"), ProcessSettings)
    templates = _convert_members(document.get("templates"), Template)
    snippets = _convert_members(document.get("snippets"), Texts)
    step_documents = document.get("steps")
    steps: list[Step | None] = []
    if isinstance(step_documents, list):
        steps = [_convert_step(each) for each in step_documents]
    faults: list[Fault] = []
    if settings is not None:
        faults += find_settings_faults(settings)
        faults += find_text_faults(templates, snippets, settings.languages)
    faults += find_step_faults(steps, templates, settings)
    if isinstance(step_documents, list):
        faults += _find_faults_of_unconverted(step_documents, steps)
    return faults


def _find_faults_of_unconverted(
    step_documents: list[object], steps: list[Step | None]
) -> Iterator[Fault]:
    """Yield the faults in the conditions of steps whose own shape is wrong, so that all faults of a
    step are reported together."""
    for index, (value, step) in enumerate(zip(step_documents, steps, strict=True)):
        if step is None and isinstance(value, dict):
            condition = convert_if_valid(value.get("when"), Condition)
            if condition is not None:
                yield from find_condition_faults(condition, f"/steps/{index}/when")


def _convert_step(value: object) -> Step | None:
    try:
        step: Step = msgspec.convert(value, Step)
    except msgspec.ValidationError:
        return None
    return step


def _convert_members(value: object, shape: type[Part]) -> dict[str, Part | None]:
    if not isinstance(value, dict):
        return {}
    return {str(name): convert_if_valid(member, shape) for name, member in value.items()}


def check_workflow_name(name: str) -> None:
    """Check the name of a workflow or a scenario. Raises ValidationError."""
    if not 1 <= len(name) <= 255 or not is_printable(name) or name != name.strip():
        message = "Use 1 to 255 printable characters without space at the ends."
        raise ValidationError([Fault("/name", message, "WRONG_FORMAT")])
