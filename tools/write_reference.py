"""Generate the tables of docs/operator/workflows.md from the code, and workflow-schema.json.

The text between `<!-- generated: name -->` and `<!-- end -->` is replaced; the rest is written by
hand. A test compares both files with the generated text.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import NODEFAULT
from tools.write_states import CLAIM, render_diagram

from dunwell.contact.escalation import schedule
from dunwell.core.workflows.checking import render_definition_schema
from dunwell.core.workflows.definition import (
    CheckpointStep,
    Condition,
    ContactStep,
    Definition,
    EmailTemplate,
    FeeStep,
    IntegerBounds,
    LatePolicy,
    LetterTemplate,
    ProcessSettings,
    SmsTemplate,
    Template,
    TextTest,
    WaitStep,
    WorkflowContactHours,
    WorkflowHolidays,
)
from dunwell.core.workflows.document import get_default
from dunwell.core.workflows.reference import FIELD_DESCRIPTIONS
from dunwell.core.workflows.versions.versions import FIELD_VERDICTS, VersionVerdict

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "operator" / "workflows.md"
SCHEMA = DOCS / "workflow-schema.json"

# Part -> the title of its table, in the order of the page.
PARTS: Mapping[type[msgspec.Struct], str] = {
    Definition: "The definition",
    ProcessSettings: "`settings`",
    WorkflowContactHours: "`settings.contactHours`",
    WorkflowHolidays: "`settings.holidays`",
    LatePolicy: "`settings.latePolicy`",
    ContactStep: "A step of kind COMMUNICATION",
    WaitStep: "A step of kind WAIT",
    FeeStep: "A step of kind FEE",
    CheckpointStep: "A step of kind CHECKPOINT",
    Condition: "`when`: all its tests must match",
    IntegerBounds: "Bounds, in a guard",
    TextTest: "A test of a text, in a guard",
    Template: "A template",
    EmailTemplate: "`EMAIL`, in a template",
    SmsTemplate: "`SMS`, in a template",
    LetterTemplate: "`LETTER`, in a template",
}
_SECTION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def render_page(page: str) -> str:
    """Return the page with every generated section updated."""
    return _SECTION.sub(lambda found: found[1] + RENDERERS[found[2]]() + "\n" + found[3], page)


def render_schema() -> str:
    return json.dumps(render_definition_schema(), indent=2, ensure_ascii=False) + "\n"


def render_fields() -> str:
    """Return one table for each part of a definition."""
    schema = render_definition_schema()["$defs"]
    return "\n\n".join(
        f"**{title}**\n\n{_table(('key', 'value', 'default', 'meaning'), rows)}"
        for part, title in PARTS.items()
        if (rows := list(_list_fields(part, schema[part.__name__]["properties"])))
    )


def _list_fields(
    part: type[msgspec.Struct], properties: Mapping[str, Any]
) -> Iterator[Sequence[str]]:
    for field in msgspec.structs.fields(part):
        value = _describe_value(properties[field.encode_name])
        words = FIELD_DESCRIPTIONS[part][field.name]
        yield f"`{field.encode_name}`", value, _describe_default(get_default(field)), words


def _describe_default(default: Any) -> str:
    if default is NODEFAULT:
        return "required"
    return "none" if default is None else f"`{json.dumps(default)}`"


def _describe_value(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return "object, see below"
    if "enum" in schema:
        return " ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        choices = [_describe_value(each) for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(choices))
    if schema["type"] == "array":
        return f"list of: {_describe_value(schema['items'])}"
    if schema["type"] == "integer" and "maximum" in schema:
        return f"number, {schema['minimum']} to {schema['maximum']}"
    plain = {"string": "text", "integer": "number", "boolean": "`true` `false`"}
    return plain.get(schema["type"], "object")


def render_kinds() -> str:
    """Return the table in the docstring of the schedule module."""
    assert schedule.__doc__ is not None
    lines = [line for line in schedule.__doc__.splitlines() if line.startswith("    ")]
    starts = [lines[0].index(head) for head in lines[0].split()]
    rows: list[list[str]] = []
    for line in lines:
        cells = [line[a:b].strip() for a, b in pairwise([*starts, len(line) + 1])]
        if cells[0]:
            rows.append(cells)
        else:  # the continuation of a row
            rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], cells, strict=True)]
    return _table(rows[0], rows[1:])


def render_verdicts() -> str:
    """Return which changes of fields are minor and which are major."""
    rows = []
    for part, verdicts in FIELD_VERDICTS.items():
        names = {field.name: field.encode_name for field in msgspec.structs.fields(part)}
        by_verdict = {
            wanted: " ".join(
                f"`{names[n]}`" for n, verdict in verdicts.items() if verdict is wanted
            )
            for wanted in (VersionVerdict.MINOR, VersionVerdict.MAJOR)
        }
        rows.append(
            (PARTS[part], by_verdict[VersionVerdict.MINOR], by_verdict[VersionVerdict.MAJOR])
        )
    return _table(("part", "minor", "major"), rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


RENDERERS: Mapping[str, Callable[[], str]] = {
    "fields": render_fields,
    "kinds": render_kinds,
    "states": lambda: render_diagram(CLAIM),
    "verdicts": render_verdicts,
}


def main() -> None:
    PAGE.write_text(render_page(PAGE.read_text()))
    SCHEMA.write_text(render_schema())
    print(f"wrote {PAGE} and {SCHEMA}")


if __name__ == "__main__":
    main()
