"""A definition is rendered readably and parsed to the same definition."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.workflows.checking import parse_definition
from dunwell.core.workflows.definition import CheckpointStep, Definition, WaitStep
from dunwell.core.workflows.document import render_document
from dunwell.core.workflows.versions.differences import compare_texts
from dunwell.core.workflows.versions.versions import KnownStep, find_reused_id_faults
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.yaml_document import list_lines, parse_yaml, render_yaml
from tests.domain.test_verdict_fields import FULL
from tests.support.definitions import a_definition, a_document

TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=30
) | st.sampled_from(["1e5", "18:00", "no", "~", "<<", "", "2020-01-01", "a: b", "# c", "0x1", "="])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
STEPS = st.lists(
    st.builds(WaitStep, st.integers(1, 9), TEXTS.filter(bool), days=st.integers(1, 30))
    | st.builds(
        CheckpointStep, st.integers(1, 9), TEXTS.filter(bool), offset=st.integers(-5, 5),
        message=TEXTS,
    ),
    min_size=1, max_size=5,
)  # fmt: skip


@given(VALUES)
def test_rendered_yaml_is_parsed_to_the_same_value(value: Any) -> None:
    assert parse_yaml(render_yaml(value)) == value


@given(STEPS)
def test_a_rendered_definition_is_parsed_to_the_same_definition(steps: list[Any]) -> None:
    definition = Definition(a_definition().settings, steps)
    written = render_yaml(render_document(definition))
    assert msgspec.convert(parse_yaml(written), Definition) == definition


@pytest.mark.parametrize("document", [FULL, a_document()])
def test_every_field_except_defaults_is_rendered(document: Any) -> None:
    definition = msgspec.convert(document, Definition)
    written = render_document(definition)
    assert parse_definition(written) == definition
    assert "fallbacks" not in render_document(a_definition())["steps"][0]


def test_a_step_starts_with_its_kind_and_ends_with_its_condition() -> None:
    [step, *_] = render_document(msgspec.convert(FULL, Definition))["steps"]
    assert list(step)[:4] == ["id", "name", "kind", "channel"]
    assert list(step)[-1] == "when"


def test_multiline_texts_and_times_are_rendered_readably() -> None:
    value = {"body": "Dear\n\nyou\n", "from": "09:00", "days": ["MON", "TUE"]}
    assert render_yaml(value) == ('body: |\n  Dear\n\n  you\nfrom: "09:00"\ndays: [MON, TUE]\n')


def test_the_line_of_a_fault_is_that_of_its_value_or_of_the_enclosing_one() -> None:
    text = "settings:\n  languages: [en]\nsteps:\n  - id: 1\n    name: A\n  - id: 2\n    name: B\n"
    assert list_lines(text, [["settings", "languages", "0"]])[0] == 2
    assert list_lines(text, [["steps", "1", "name"]])[0] == 7
    assert list_lines(text, [["steps", "1", "when"]])[0] == 6
    assert list_lines(text, [["templates"]])[0] == 1
    assert list_lines(text, [[]])[0] == 1


def test_a_draft_must_fit_the_schema_and_may_have_other_faults() -> None:
    assert parse_definition(a_document(templates={})) == a_definition(templates={})
    with pytest.raises(ValidationError) as refusal:
        parse_definition({**a_document(), "steps": [{"id": "1"}], "snippet": {}})
    assert {fault.path for fault in refusal.value.faults} >= {"/snippet", "/steps/0/kind"}
    with pytest.raises(ValidationError):
        parse_definition(a_document(snippets={"a": {"de": "\x00", "en": "x"}}))


def test_changes_inside_a_text_are_listed_line_by_line() -> None:
    old = a_definition(snippets={"a": {"de": "one\ntwo\nthree\nfour", "en": "x"}})
    new = a_definition(snippets={"a": {"de": "one\ntwo\n3\nfour", "en": "y"}})
    assert compare_texts(old, new) == {"snippets.a.de": [" two", "-three", "+3", " four"]}
    assert compare_texts(old, old) == {}


def test_a_step_id_belongs_to_one_kind_for_ever() -> None:
    known = {2: KnownStep("WAIT", "Old wait", "v1.0"), 3: KnownStep("WAIT", "Gone", "v1.0")}
    faults = find_reused_id_faults(known, a_definition())
    assert [(fault.path, fault.code) for fault in faults] == [("/steps/2/id", "ID_REUSED")]
    assert faults[0].message == (
        'The id 3 was that of "Gone" (WAIT, v1.0) and stays with it; '
        "give this FEE step a new one, such as 6."
    )
    assert find_reused_id_faults({}, a_definition()) == []
