"""Faults of a definition's texts: each with its place, a code, and the nearest known name."""

from typing import Any

import pytest

from dunwell.errors import Fault
from dunwell.messages.checking import find_template_faults
from tests.support.definitions import a_definition


def _faults(body: str, snippets: dict[str, Any] | None = None) -> list[Fault]:
    email = {"subject": {"de": "Erinnerung"}, "body": {"de": body}}
    return find_template_faults(
        a_definition(templates={"first/one": {"EMAIL": email}}, snippets=snippets or {})
    )


def test_the_usual_definition_has_no_fault() -> None:
    assert find_template_faults(a_definition()) == []


def test_an_unknown_placeholder_is_told_with_the_nearest_known_one() -> None:
    assert _faults("Dear {{ debtor.nmae }}") == [
        Fault(
            "/templates/first~1one/EMAIL/body/de",
            '{{ debtor.nmae }} is no placeholder. Did you mean "debtor.name"?',
            "UNKNOWN_PLACEHOLDER",
        )
    ]


def test_an_unknown_snippet_is_told_with_the_nearest_known_one() -> None:
    (fault,) = _faults("{{ snippet.signatur }}", {"signature": {"de": "x"}})
    assert fault.code == "UNKNOWN_SNIPPET"
    assert fault.message.endswith('Did you mean "signature"?')


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("Dear {{ debtor.name }", "BROKEN_PLACEHOLDER"),
        ("Dear {{ debtor name }}", "BROKEN_PLACEHOLDER"),
        ("Dear {{ }}", "UNKNOWN_PLACEHOLDER"),
        ("Dear <b>you</b>", "HTML_IN_TEXT"),
        ("<!-- x -->", "HTML_IN_TEXT"),
        ("![logo](https://a.example/x.png)", "IMAGE_IN_TEXT"),
        ("[x](http://a.example)", "BAD_LINK"),
        ("You owe {{ items }} now", "MISPLACED_ITEMS"),
        (" \n ", "EMPTY_TEXT"),
    ],
)
def test_an_unusable_text_is_one_fault(body: str, code: str) -> None:
    assert [fault.code for fault in _faults(body)] == [code]


@pytest.mark.parametrize("body", ["1 < 2 > 0", "a <3 b", "Wow! [x](https://a.example)", "} {"])
def test_ordinary_signs_are_no_fault(body: str) -> None:
    assert _faults(body) == []


def test_a_snippet_is_checked_itself_and_where_it_is_used() -> None:
    snippets = {"a": {"de": "{{ snippet.b }} {{ wrong }}"}, "b": {"de": "[x](ftp://a)"}}
    found = [(fault.path, fault.code) for fault in _faults("{{ snippet.b }}", snippets)]
    assert found == [
        ("/snippets/a/de", "UNKNOWN_PLACEHOLDER"),
        ("/snippets/a/de", "NESTED_SNIPPET"),
        ("/templates/first~1one/EMAIL/body/de", "BAD_LINK"),
    ]


def test_every_channel_is_checked() -> None:
    wrong = {"de": "{{ wrong }}"}
    template = {
        "EMAIL": {"subject": wrong, "body": wrong},
        "SMS": {"body": wrong},
        "LETTER": {"subject": wrong, "body": wrong},
    }
    faults = find_template_faults(a_definition(templates={"t": template}))
    assert [fault.path for fault in faults] == [
        f"/templates/t/{place}/de"
        for place in ("EMAIL/subject", "EMAIL/body", "SMS/body", "LETTER/subject", "LETTER/body")
    ]


def test_a_subject_takes_no_table() -> None:
    email = {"subject": {"de": "{{ items }}"}, "body": {"de": "x"}}
    faults = find_template_faults(a_definition(templates={"t": {"EMAIL": email}}))
    assert [fault.code for fault in faults] == ["MISPLACED_ITEMS"]
