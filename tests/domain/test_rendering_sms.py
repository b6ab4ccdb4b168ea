"""Rendering of SMS texts."""

import pytest

from dunwell.contact.messages.claim_links import CODE_MASK, TOKEN_MASK
from dunwell.contact.messages.templates.facts import CHECK_MASK, LandingFacts
from dunwell.contact.messages.templates.rendering import render_sms
from dunwell.contact.messages.templates.sms_parts import SmsParts, count_parts
from dunwell.core.claims.fields import DebtorName
from dunwell.core.workflows.definition import SmsTemplate
from tests.support.messages import some_facts

_TEMPLATE = SmsTemplate(
    body={
        "de": "{{ merchant.name }}: {{ outstanding }}  offen.\n{{ landing.url }}\n{{ snippet.end }}"
    }
)


def test_an_sms_keeps_its_lines_and_has_only_gsm_characters() -> None:
    text, parts = render_sms(_TEMPLATE, {"end": {"de": "Ihr Team"}}, "de", some_facts())
    assert text == (
        "Nordwind: 1.000,00 € offen.\nhttps://pay.example/q/abc\nIhr Team\n"
        "Echt? pay.example/real Code _chk_code"
    )
    assert parts == SmsParts("GSM-7", len(text) + 1, 1)


def test_the_masked_text_has_as_many_parts_as_the_sent_one() -> None:
    template = SmsTemplate(body={"de": "{{ landing.url }} {{ landing.code }}" + "x" * 100})
    masked = some_facts(landing=LandingFacts(f"https://p.example/q/{TOKEN_MASK}", CODE_MASK))
    text, parts = render_sms(template, {}, "de", masked)
    sent = text.replace(TOKEN_MASK, "a-Z_9" * 4 + "ab").replace(CODE_MASK, "ABCD-EFGH-JKMN")
    assert count_parts(sent) == parts


def test_a_debtors_name_is_plain_text_on_one_line() -> None:
    debtor = DebtorName(last_name="A*b*\r\nc {{ today }}")
    text, _ = render_sms(
        SmsTemplate(body={"de": "{{ debtor.name }}!"}), {}, "de", some_facts(debtor=debtor)
    )
    assert text == "A*b* c {{ today }}!\nEcht? pay.example/real Code _chk_code"


@pytest.mark.parametrize(
    ("length", "parts", "is_checkable"),
    [(122, 1, True), (123, 1, False), (160, 1, False), (161, 2, True), (306, 2, False)],
)
def test_the_verification_code_adds_no_part(length: int, parts: int, is_checkable: bool) -> None:
    template = SmsTemplate(body={"de": "x" * length})
    text, counted = render_sms(template, {}, "de", some_facts())
    assert (counted.count, CHECK_MASK in text) == (parts, is_checkable)
    assert count_parts(text.replace(CHECK_MASK, "ABCD-EFGH")) == counted


def test_a_long_text_reports_its_number_of_parts() -> None:
    template = SmsTemplate(body={"de": "x" * 1531})
    _, parts = render_sms(template, {}, "de", some_facts())
    assert parts.count == 11
