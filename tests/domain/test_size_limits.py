"""Size limits of messages, checked before publishing and when a message is rendered."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dunwell.contact.messages.templates.compiled_text import Slot, fill_within
from dunwell.contact.messages.templates.facts import MessageClaim, MessageItem
from dunwell.contact.messages.templates.formatting import MessageValues
from dunwell.contact.messages.templates.markdown import cache_by_size
from dunwell.contact.messages.templates.placeholders import (
    PAY_BY,
    MessageTooLarge,
    expand_snippets,
    join_within,
    list_used_placeholders,
    measure_expanded,
    remove_sentences,
)
from dunwell.contact.messages.templates.rendering import render_email, render_sms
from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.claims.fields import DebtorName
from dunwell.core.workflows.definition import EmailTemplate, SmsTemplate
from dunwell.platform.errors import Fault
from tests.support.definitions import a_definition
from tests.support.letters import a_letter
from tests.support.messages import CLAIM, some_facts

LONG = "word " * 3_980
SIZE_CODES = ("MESSAGE_TOO_LONG", "MARKUP_TOO_LONG", "TEXTS_TOO_LONG")


def find_size_faults(
    body: str, channel: str = "LETTER", snippet: str = LONG, templates: int = 1
) -> list[Fault]:
    text: dict[str, Any] = {"body": {"de": body}}
    if channel != "SMS":
        text["subject"] = {"de": "Rechnung {{ claim.referenceNumber }}"}
    definition = a_definition(
        templates={f"t{number}": {channel: text} for number in range(templates)},
        snippets={"s": {"de": snippet}},
    )
    return [each for each in list_template_faults(definition) if each.code in SIZE_CODES]


@pytest.mark.parametrize(
    ("channel", "most"), [("EMAIL", 40_000), ("SMS", 20_000), ("LETTER", 40_000)]
)
def test_a_text_with_its_snippets_has_a_limit_for_each_channel(channel: str, most: int) -> None:
    body = "{{ snippet.s }}" * (most // 10_000 - 1) + "y" * 10_000

    assert find_size_faults(body, channel, "x" * 10_000) == []
    [fault] = find_size_faults(f"{body}y", channel, "x" * 10_000)
    assert (fault.path, fault.code) == (f"/templates/t0/{channel}/body/de", "MESSAGE_TOO_LONG")
    assert f"has {most + 1:,} characters; the maximum is {most:,}" in fault.message


def test_a_snippet_used_a_thousand_times_is_measured_without_expanding_it() -> None:
    began = time.perf_counter()

    [fault] = find_size_faults("{{snippet.s}}\n" * 1_000)

    assert "has 19,901,000 characters" in fault.message
    # Inserting the snippet and parsing the result takes a hundred times as long.
    assert time.perf_counter() - began < 1


def test_each_table_of_items_counts_as_four_thousand_characters() -> None:
    assert find_size_faults("{{ items }}\n\n" * 9, snippet="x") == []
    [by_snippet] = find_size_faults("{{ snippet.s }}" * 4, snippet="{{ items }}\n\n" * 3)
    [in_the_text] = find_size_faults("{{ items }}\n\n" * 10, snippet="x")
    assert (by_snippet.code, in_the_text.code) == ("MESSAGE_TOO_LONG", "MESSAGE_TOO_LONG")


def test_markup_that_would_fill_a_message_is_refused() -> None:
    assert find_size_faults("a\n\n" * 2_000, "EMAIL") == []
    [fault] = find_size_faults("{{ snippet.s }}{{ snippet.s }}", "EMAIL", "a\n\n" * 6_000)
    assert fault.code == "MARKUP_TOO_LONG"


def test_all_texts_of_a_definition_together_have_a_limit() -> None:
    body = "{{ snippet.s }}" + "y" * 10_000

    assert find_size_faults(body, templates=16) == []
    [fault] = find_size_faults(body, templates=17)
    assert (fault.path, fault.code) == ("/templates", "TEXTS_TOO_LONG")


def test_a_text_is_measured_while_it_is_assembled() -> None:
    words = {"a": "{{ snippet.b }}", "b": "xyz"}
    for text in ("{{snippet.a}} {{ snippet.b }}", "{{snippet.none}}.", "{{ snippet.greeting }},"):
        size = measure_expanded(text, words)
        assert len(expand_snippets(text, words, size)) == size
        with pytest.raises(MessageTooLarge):
            expand_snippets(text, words, size - 1)


def email(body: str) -> EmailTemplate:
    return EmailTemplate(subject={"de": "S"}, body={"de": body})


_MUCH = {"s": {"de": LONG}}
_ITEMS = "{{ items }}\n\n" * 1_500
_WRITTEN: dict[str, Callable[[], object]] = {
    "an e-mail's snippets": lambda: render_email(
        email("{{snippet.s}}\n" * 1_000), _MUCH, "de", some_facts()
    ),
    "an SMS's snippets": lambda: render_sms(
        SmsTemplate({"de": "{{snippet.s}}\n" * 1_000}), _MUCH, "de", some_facts()
    ),
    "a letter's tables": lambda: a_letter(_ITEMS, claim=many_items()),
    "an e-mail's tables": lambda: render_email(
        email(_ITEMS), {}, "de", some_facts(claim=many_items())
    ),
    "an SMS's values": lambda: render_sms(
        SmsTemplate({"de": "{{ debtor.name }}" * 1_100}), {}, "de",
        some_facts(debtor=DebtorName(last_name="n" * 250)),
    ),
}  # fmt: skip


def many_items() -> MessageClaim:
    items = tuple(MessageItem("PRIMARY", 1, reference=f"INV-{n}") for n in range(100))
    return replace(CLAIM, items=items)


@pytest.mark.parametrize("what", _WRITTEN)
def test_a_message_beyond_its_limit_is_refused_and_never_truncated(what: str) -> None:
    began = time.perf_counter()
    with pytest.raises(MessageTooLarge, match="Shorten the template"):
        _WRITTEN[what]()
    assert time.perf_counter() - began < 5


def test_values_are_counted_while_they_are_inserted() -> None:
    values = MessageValues(some_facts(), "de")
    parts = (Slot("outstanding", "TEXT"),) * 3
    whole = "".join([values.text("outstanding")] * 3)
    assert fill_within(parts, values, len(whole)) == whole
    with pytest.raises(MessageTooLarge):
        fill_within(parts, values, len(whole) - 1)


def test_no_further_part_is_requested_beyond_the_limit() -> None:
    asked = []

    def pieces() -> Any:
        for number in range(100):
            asked.append(number)
            yield "ab"

    with pytest.raises(MessageTooLarge):
        join_within(pieces(), 7)
    assert asked == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "read",
    [
        lambda: remove_sentences("{{ payBy }}" + "a" * 10_000 + " b. " * 2_500, {PAY_BY}),
        lambda: list_used_placeholders(("{{" + " " * 20_000) * 2),
    ],
    ids=["full stops behind a long word", "blanks that no brace follows"],
)  # fmt: skip
def test_no_text_takes_quadratic_time(read: Callable[[], object]) -> None:
    began = time.perf_counter()
    read()
    assert time.perf_counter() - began < 0.3


def test_the_cache_of_compiled_texts_is_limited_by_characters() -> None:
    made = []

    @cache_by_size(10)
    def make(text: str) -> str:
        made.append(text)
        return text.upper()

    for text in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "x" * 11, "x" * 11):
        assert make(text) == text.upper()
    assert made == ["aaaa", "bbbb", "cccc", "bbbb", "x" * 11, "x" * 11]
