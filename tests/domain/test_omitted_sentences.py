"""Sentences that name a missing day are left out, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.messages.templates.placeholders import (
    PAY_BY,
    list_used_placeholders,
    remove_sentences,
)
from dunwell.contact.messages.templates.rendering import render_email, render_sms
from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.workflows.definition import EmailTemplate, SmsTemplate
from tests.support.definitions import a_definition
from tests.support.messages import some_facts

PAY = "Bitte zahlen Sie bis zum {{ payBy }}."


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        (f"Guten Tag. {PAY} Danke.", "Guten Tag. Danke."),
        (f"{PAY} Danke.", "Danke."),
        (f"Danke! {PAY}", "Danke!"),
        # A full stop that does not end a sentence.
        ("Danke. Zahlen Sie, z. B. heute, bis {{ payBy }}. Ende.", "Danke. Ende."),
        ("Danke. Zahlen Sie vor dem 3. Mai oder bis {{ payBy }}. Ende.", "Danke. Ende."),
        ("Danke. Das ist ca. {{ payBy }} so weit. Ende.", "Danke. Ende."),
        ("Seit 2026. Bitte bis {{ payBy }}. Ende.", "Seit 2026. Ende."),
        # The text of a placeholder ends no sentence.
        ("{{ merchant.name }} bittet bis {{ payBy }} um {{ outstanding }}. Ende.", "Ende."),
        # A line ends a sentence and is removed if nothing of it is left.
        (f"Erstens\n{PAY}\nZweitens", "Erstens\nZweitens"),
        (f"Erstens\n\n{PAY}\n\nZweitens", "Erstens\n\nZweitens"),
        (f"- Eins\n- {PAY}\n- Drei. {PAY}", "- Eins\n- Drei."),
        ("**Bitte bis {{ payBy }}.** Danke.", "Danke."),
        ("# Bis {{ payBy }}\n\nDanke.", "Danke."),
        (PAY, ""),
        ("Heute ist {{ today }}.\n\n\n\nDanke.", "Heute ist {{ today }}.\n\n\n\nDanke."),
    ],
)
def test_a_sentence_is_left_out_as_a_whole(text: str, remaining: str) -> None:
    assert remove_sentences(text, {PAY_BY}) == remaining


@given(st.text("ab.!? \n-{}", max_size=60), st.text("ab.!? \n-", max_size=60))
def test_no_part_of_the_sentence_is_left(before: str, after: str) -> None:
    remaining = remove_sentences(before + " {{ payBy }} " + after, {PAY_BY})
    assert PAY_BY not in list_used_placeholders(remaining)
    assert set(remaining) <= set(before + after + " \n{}payBy")


@given(st.text(max_size=80))
def test_a_text_that_names_no_day_is_unchanged(text: str) -> None:
    if PAY_BY not in list_used_placeholders(text):
        assert remove_sentences(text, {PAY_BY}) == text


def test_messages_name_the_pay_by_date() -> None:
    facts = some_facts(pay_by=some_facts().today.replace(day=16))
    body = f"Hallo. {PAY}"
    sms, _ = render_sms(SmsTemplate({"de": body}), {}, "de", facts)
    assert sms.splitlines()[0] == "Hallo. Bitte zahlen Sie bis zum 16. März 2026."
    mail = render_email(EmailTemplate({"de": "Offen"}, {"de": body}), {}, "de", facts)
    assert "Bitte zahlen Sie bis zum 16. März 2026." in mail.body_text
    assert "bis zum 16. März 2026." in mail.body_html


def test_messages_without_a_pay_by_date_omit_the_sentence_in_each_format() -> None:
    facts, snippets = some_facts(), {"when": {"de": PAY}}
    body = "Hallo. {{ snippet.when }} Danke."
    sms, _ = render_sms(SmsTemplate({"de": body}), snippets, "de", facts)
    assert sms.splitlines()[0] == "Hallo. Danke."
    template = EmailTemplate({"de": "Offen. {{ snippet.when }}"}, {"de": body})
    mail = render_email(template, snippets, "de", facts)
    assert mail.subject == "Offen."
    assert "Hallo. Danke." in mail.body_text
    assert "zahlen Sie" not in mail.body_html
    assert "zahlen bis" not in mail.body_html


PARTS = "{{ merchant.name }} {{ claim.referenceNumber }} {{ outstanding }} {{ landing.url }}"


@pytest.mark.parametrize(
    ("subject", "body", "codes"),
    [
        ("Offen", f"{PARTS}\n\n{PAY}", []),
        ("Bitte bis {{ payBy }}", PARTS, ["ONLY_PAY_BY"]),
        ("Offen. Bitte bis {{ payBy }}", PARTS, []),
        ("Offen", f"{PARTS} bis {{{{ payBy }}}}", ["ONLY_PAY_BY"]),
        ("Offen", f"Hallo.\n\n{PARTS} bis {{{{ payBy }}}}.", ["MISSING_PART"] * 3),
    ],
)
def test_mandatory_parts_may_not_be_in_an_optional_sentence(
    subject: str, body: str, codes: list[str]
) -> None:
    email = {"subject": {"de": subject}, "body": {"de": body}}
    definition = a_definition(templates={"first": {"EMAIL": email}}, snippets={})
    assert [fault.code for fault in list_template_faults(definition)] == codes
