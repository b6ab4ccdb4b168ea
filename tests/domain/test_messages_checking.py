"""Faults of a definition's texts, each with its path, a code and the nearest known name."""

from typing import Any

import pytest

from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.platform.errors import Fault
from tests.support.definitions import a_definition

# The mandatory parts of a message, so that each fault comes from what is added.
PARTS = "{{ merchant.name }} {{ claim.referenceNumber }} {{ outstanding }} {{ landing.url }}"


def _faults(body: str, snippets: dict[str, Any] | None = None) -> list[Fault]:
    whole = f"{PARTS}\n\n{body}" if body.strip() else body
    email = {"subject": {"de": "Erinnerung"}, "body": {"de": whole}}
    return list_template_faults(
        a_definition(templates={"first/one": {"EMAIL": email}}, snippets=snippets or {})
    )


def test_the_usual_definition_has_no_fault() -> None:
    assert list_template_faults(a_definition()) == []


def test_an_unknown_placeholder_is_reported_with_the_nearest_name() -> None:
    assert _faults("Dear {{ debtor.nmae }}") == [
        Fault(
            "/templates/first~1one/EMAIL/body/de",
            '{{ debtor.nmae }} is not a placeholder. Did you mean "debtor.name"?',
            "UNKNOWN_PLACEHOLDER",
        )
    ]


def test_an_unknown_snippet_is_reported_with_the_nearest_name() -> None:
    (fault,) = _faults("{{ snippet.signatur }}", {"signature": {"de": "x"}})
    assert fault.code == "UNKNOWN_SNIPPET"
    assert fault.message.endswith('Did you mean "signature"?')


def test_the_greeting_snippet_is_always_available() -> None:
    assert _faults("{{ snippet.greeting }},") == []
    (fault,) = _faults("{{ snippet.greting }},")
    assert fault.message.endswith('Did you mean "greeting"?')


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
def test_an_unusable_text_has_one_fault(body: str, code: str) -> None:
    assert [fault.code for fault in _faults(body)] == [code]


@pytest.mark.parametrize("body", ["1 < 2 > 0", "a <3 b", "Wow! [x](https://a.example)", "} {"])
def test_ordinary_characters_are_no_fault(body: str) -> None:
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
    wrong, body = {"de": "{{ wrong }}"}, {"de": f"{PARTS} {{{{ wrong }}}}"}
    template = {
        "EMAIL": {"subject": wrong, "body": body},
        "SMS": {"body": body},
        "LETTER": {"subject": wrong, "body": body},
    }
    faults = list_template_faults(a_definition(templates={"t": template}))
    assert [fault.path for fault in faults] == [
        f"/templates/t/{place}/de"
        for place in ("EMAIL/subject", "EMAIL/body", "SMS/body", "LETTER/subject", "LETTER/body")
    ]


def test_a_subject_cannot_contain_the_item_table() -> None:
    email = {"subject": {"de": "{{ items }}"}, "body": {"de": PARTS}}
    faults = list_template_faults(a_definition(templates={"t": {"EMAIL": email}}))
    assert [fault.code for fault in faults] == ["MISPLACED_ITEMS"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("**now**", "MARKDOWN_IN_SMS"),
        ("*now*", "MARKDOWN_IN_SMS"),
        ("[here]({{ landing.url }})", "MARKDOWN_IN_SMS"),
        ("- one\n- two", "MARKDOWN_IN_SMS"),
        ("# Now", "MARKDOWN_IN_SMS"),
        ("<b>now</b>", "HTML_IN_TEXT"),
        ("{{ items }}", "MISPLACED_ITEMS"),
        ("a" * 1_531, "TOO_LONG"),
        ("Danke 🙂", "OUTSIDE_GSM"),
        ("Code: {{ landing.code }}", "CODE_OUTSIDE_LETTER"),
    ],
)
def test_an_sms_is_plain_text(text: str, code: str) -> None:
    sms = {"body": {"de": f"{PARTS}\n\n{text}"}}
    faults = list_template_faults(a_definition(templates={"t": {"SMS": sms}}))
    assert [(fault.path, fault.code) for fault in faults] == [("/templates/t/SMS/body/de", code)]


def test_characters_outside_the_alphabet_are_named() -> None:
    sms = {"body": {"de": f"{PARTS} Danke 🙂 \u2013 \u201cIhr\u201d Team ✓"}}
    (fault,) = list_template_faults(a_definition(templates={"t": {"SMS": sms}}))
    assert fault.message == (
        "These characters switch the SMS to UCS-2 and more than double its cost: "
        '"🙂" (U+1F642), "✓" (U+2713). Leave them out.'
    )


def test_a_language_that_needs_other_letters_may_use_them_within_the_length() -> None:
    texts = {"cs": f"{PARTS} Děkujeme"}
    template = {"t": {"SMS": {"body": texts}}}
    assert list_template_faults(a_definition(templates=template)) == []
    texts["cs"] = PARTS + "Š" * 671
    (fault,) = list_template_faults(a_definition(templates=template))
    assert fault.code == "TOO_LONG"


def test_an_access_code_is_only_allowed_on_letters() -> None:
    body = {"de": f"{PARTS} {{{{ landing.code }}}}"}
    mail = {"subject": {"de": "A"}, "body": body}
    faults = list_template_faults(a_definition(templates={"t": {"EMAIL": mail, "LETTER": mail}}))
    assert [(fault.path, fault.code) for fault in faults] == [
        ("/templates/t/EMAIL/body/de", "CODE_OUTSIDE_LETTER")
    ]


@pytest.mark.parametrize("text", ["2 * 3 * 4", "a_b_c", "Zeile eins\nZeile zwei", "Rest: 5 %"])
def test_ordinary_characters_are_allowed_in_an_sms(text: str) -> None:
    sms = {"body": {"de": f"{PARTS}\n{text}"}}
    assert list_template_faults(a_definition(templates={"t": {"SMS": sms}})) == []


def test_a_marked_up_snippet_is_a_fault_of_the_sms_that_uses_it() -> None:
    texts = {"SMS": {"body": {"de": f"{PARTS} {{{{ snippet.bank }}}}"}}}
    snippets = {"bank": {"de": "IBAN **{{ bank.iban }}**"}}
    faults = list_template_faults(a_definition(templates={"t": texts}, snippets=snippets))
    assert [fault.code for fault in faults] == ["MARKDOWN_IN_SMS"]
