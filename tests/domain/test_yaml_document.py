"""YAML is parsed to JSON values, and nothing in it is ambiguous or repeated."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.text.yaml_document import InvalidDocument, list_lines, parse_yaml

PLAIN = {
    "18:00": "18:00",
    "no": "no",
    "2026-01-01": "2026-01-01",
    "012": "012",
    "12": 12,
    "-1.5": -1.5,
    "true": True,
    "null": None,
    "~": None,
    "'12'": "12",
}


@pytest.mark.parametrize(("text", "value"), PLAIN.items())
def test_a_plain_scalar_means_what_json_means(text: str, value: object) -> None:
    assert parse_yaml(f"key: {text}") == {"key": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", 'Line 2, column 1: the key "a" is there twice; keep one.'),
        ("b:\n  1: x", 'Line 2, column 3: put the key "1" in quotes.'),
        ("a: [1", "Line 2, column 1: did not find expected ',' or ']'."),
    ],
)
def test_ambiguous_yaml_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidDocument) as refusal:
        parse_yaml(text)
    assert str(refusal.value) == message


@pytest.mark.parametrize("text", ["a: !!python/object:os.system x", "a: \x00", "[" * 5000])
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidDocument):
        parse_yaml(text)


@pytest.mark.parametrize(
    "value",
    ["9" * 5000, "!!timestamp 2024-13-45", "!!timestamp 2024-11-25", "!!int x", '!!int ""',
     "!!float x", "!!bool x", "!!binary aGk=", "!!set {b}", "!!omap [b: 1]"],
)  # fmt: skip
def test_values_without_a_json_equivalent_are_refused(value: str) -> None:
    with pytest.raises(InvalidDocument):
        parse_yaml(f"a: {value}")


_NAMES = "bcdefghijklmnop"


def _double(first: str, write: str) -> str:
    """Return lines, each of which names the previous one nine times."""
    lines = [f"a: &a {first}"]
    for before, name in zip("a" + _NAMES, _NAMES, strict=False):
        lines.append(f"{name}: &{name} {write.format(','.join(['*' + before] * 9))}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        _double("[x]", "[{}]"),
        _double("{x: y}", "{{<<: [{}]}}"),
        "a: &a " + "x" * 100_000 + "\nb: [" + "*a," * 100 + "]",
        "a: &a [*a]",
        "&a {<<: *a}",
    ],
    ids=["lists", "merged", "one long text", "in itself", "merged into itself"],
)
def test_a_document_that_expands_enormously_is_refused(text: str) -> None:
    with pytest.raises(InvalidDocument, match="far too large"):
        parse_yaml(text)


def test_a_long_document_without_aliases_is_parsed() -> None:
    text = "[" + ",".join(["x" * 99] * 30_000) + "]"
    assert len(parse_yaml(text)) == 30_000


def test_all_line_numbers_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = list[str]()
    compose = yaml.compose

    def watch(text: str, **named: Any) -> Any:
        reads.append(text)
        return compose(text, **named)

    monkeypatch.setattr(yaml, "compose", watch)

    assert list_lines("a: 1\nb:\n- x\n- y", [["a"], ["b", 1], ["c"]]) == [1, 4, 1]
    assert len(reads) == 1


def test_parts_can_be_shared_by_aliases() -> None:
    text = "base: &base {x: 1}\nother: {<<: *base, y: 2}"
    assert parse_yaml(text) == {"base": {"x": 1}, "other": {"x": 1, "y": 2}}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["C"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner),
    max_leaves=8,
)


@given(values)
def test_json_is_parsed_as_yaml(value: Any) -> None:
    assert parse_yaml(json.dumps(value, ensure_ascii=False)) == value
