"""The operator's reference of definitions matches the code and contains every field."""

import re

import jsonschema
import msgspec
from tools.write_reference import PAGE, PARTS, RENDERERS, SCHEMA, render_page, render_schema

from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.workflows.checking import find_definition_faults, render_definition_schema
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.reference import FIELD_DESCRIPTIONS
from dunwell.platform.text.yaml_document import parse_yaml
from tests.domain.test_verdict_fields import FULL
from tests.support.definitions import a_document


def test_the_generated_tables_are_current() -> None:
    page = PAGE.read_text()
    assert render_page(page) == page, "run: python -m tools.write_reference"
    assert set(re.findall(r"<!-- generated: (\w+) -->", page)) == set(RENDERERS)


def test_the_shipped_schema_is_current_and_accepts_definitions() -> None:
    assert SCHEMA.read_text() == render_schema(), "run: python -m tools.write_reference"
    validator = jsonschema.Draft202012Validator(render_definition_schema())
    for document in (FULL, a_document()):
        assert list(validator.iter_errors(document)) == []
    assert list(validator.iter_errors(a_document(snippet={}))) != []


def test_every_field_of_a_definition_is_described() -> None:
    assert set(FIELD_DESCRIPTIONS) == set(PARTS)
    for part, words in FIELD_DESCRIPTIONS.items():
        assert set(words) == {field.name for field in msgspec.structs.fields(part)}
    defined = render_definition_schema()["$defs"]
    assert set(defined) == {part.__name__ for part in FIELD_DESCRIPTIONS}


def test_the_example_of_the_page_can_be_published() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    document = parse_yaml(example[1])
    assert find_definition_faults(document) == []
    assert list_template_faults(msgspec.convert(document, Definition)) == []
