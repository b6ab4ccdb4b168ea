"""Every message must name creditor, amount, reference, link and contact, in each channel."""

from typing import Any

import pytest

from dunwell.contact.messages.templates.placeholders import PLACEHOLDER_NAMES
from dunwell.contact.messages.templates.template_faults import PROVIDED_BY, list_template_faults
from dunwell.platform.errors import Fault
from tests.support.definitions import a_definition

COMPLETE: dict[str, str] = {
    "EMAIL": "{{ outstanding }} {{ claim.referenceNumber }} {{ landing.url }}",
    "SMS": "{{ merchant.name }} {{ outstanding }} {{ landing.url }}",
    "LETTER": "{{ outstanding }}",
}


def faults_of(channel: str, body: str, subject: str = "Open", **changes: Any) -> list[Fault]:
    texts: dict[str, Any] = {"body": {"de": body}}
    if channel != "SMS":
        texts["subject"] = {"de": subject}
    return list_template_faults(
        a_definition(**{"templates": {"t": {channel: texts}}, "snippets": {}} | changes)
    )


@pytest.mark.parametrize("channel", COMPLETE)
def test_a_complete_text_has_no_fault(channel: str) -> None:
    assert faults_of(channel, COMPLETE[channel]) == []


@pytest.mark.parametrize(
    ("channel", "name", "words"),
    [
        ("EMAIL", "outstanding",
         "The amount to pay is missing; add {{ outstanding }} or {{ items }}."),
        ("EMAIL", "claim.referenceNumber",
         "The reference of the claim is missing; add {{ claim.referenceNumber }}."),
        ("EMAIL", "landing.url", "The link to the debtor page is missing; add {{ landing.url }}."),
        ("SMS", "merchant.name",
         "The creditor is missing; add {{ merchant.name }} or {{ merchant.legalName }}."),
        ("SMS", "outstanding", "The amount to pay is missing; add {{ outstanding }}."),
        ("SMS", "landing.url", "The link to the debtor page is missing; add {{ landing.url }}."),
        ("LETTER", "outstanding",
         "The amount to pay is missing; add {{ outstanding }} or {{ items }}."),
    ],
)  # fmt: skip
def test_each_mandatory_part_must_be_in_the_text(channel: str, name: str, words: str) -> None:
    body = COMPLETE[channel].replace(f"{{{{ {name} }}}}", "Guten Tag")
    assert faults_of(channel, body) == [
        Fault(f"/templates/t/{channel}/body/de", words, "MISSING_PART")
    ]


def test_every_missing_part_is_reported_at_once_in_each_language() -> None:
    texts = {"body": {"de": "Guten Tag", "en": COMPLETE["SMS"], "fr": "Bonjour"}}
    faults = list_template_faults(a_definition(templates={"a/b": {"SMS": texts}}))
    assert [fault.path for fault in faults] == [
        *["/templates/a~1b/SMS/body/de"] * 3,
        *["/templates/a~1b/SMS/body/fr"] * 3,
    ]


def test_a_subject_may_name_the_claim_but_neither_amount_nor_link() -> None:
    reference = "{{ claim.referenceNumber }}"
    assert faults_of("EMAIL", "{{ items }}\n\n{{ landing.url }}", subject=reference) == []
    faults = faults_of("EMAIL", reference, subject="{{ outstanding }} {{ landing.url }}")
    assert [fault.code for fault in faults] == ["MISSING_PART"] * 2


def test_a_snippet_can_provide_a_mandatory_part() -> None:
    body = "{{ outstanding }} {{ claim.referenceNumber }} {{ snippet.page }}"
    snippets = {"page": {"de": "[Zur Seite]({{ landing.url }})"}}
    assert faults_of("EMAIL", body, snippets=snippets) == []


def test_mandatory_parts_are_provided_by_known_placeholders() -> None:
    assert {name for names in PROVIDED_BY.values() for name in names} <= set(PLACEHOLDER_NAMES)
