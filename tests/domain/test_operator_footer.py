"""The line below every message that names the operator and its role."""

from dataclasses import replace

import pytest

from dunwell.accounts.installation.installation_file import Operator
from dunwell.contact.messages.templates.creditors import list_operator, render_operator_line
from dunwell.contact.messages.templates.rendering import render_email
from dunwell.core.workflows.definition import EmailTemplate
from dunwell.platform.text.translation import find_debtor_language
from tests.support.messages import CREDITOR, some_facts
from tests.support.operators import AGENCY, ITSELF, OWN

_OWN_IN_ENGLISH = (
    "Nordwind Schuhe GmbH contacts you directly. Kontor Inkasso GmbH runs this service on its "
    "behalf."
)
_OWN_IN_GERMAN = (
    "Nordwind Schuhe GmbH schreibt Ihnen selbst. Den Dienst dafür betreibt Kontor Inkasso GmbH."
)
_TEMPLATE = EmailTemplate(subject={"en": "x"}, body={"en": "y"})


@pytest.mark.parametrize(
    ("operator", "language", "role"),
    [
        (AGENCY, "en", "Kontor Inkasso GmbH collects this claim for Nordwind Schuhe GmbH."),
        (AGENCY, "de", "Kontor Inkasso GmbH zieht diese Forderung für Nordwind Schuhe GmbH ein."),
        (OWN, "en", _OWN_IN_ENGLISH),
        (OWN, "de", _OWN_IN_GERMAN),
    ],
)  # fmt: skip
def test_the_line_begins_with_the_role_of_the_operator(
    operator: Operator, language: str, role: str
) -> None:
    lines = list_operator(replace(CREDITOR, operator=operator), find_debtor_language(language))
    assert lines[:2] == [role, "Kontor Inkasso GmbH, Speicherweg 12, 20457 Hamburg"]


def test_a_creditor_that_operates_its_own_installation_is_named_once() -> None:
    lines = list_operator(replace(CREDITOR, operator=ITSELF), find_debtor_language("en"))
    assert lines == ["Nordwind Schuhe GmbH contacts you directly."]


def test_without_an_operator_the_footer_names_none() -> None:
    assert list_operator(CREDITOR, find_debtor_language("en")) == []
    assert render_operator_line(CREDITOR, find_debtor_language("en")) == ""


def test_every_email_names_a_debt_collectors_registration_and_authority() -> None:
    creditor = replace(CREDITOR, operator=AGENCY)
    rendered = render_email(_TEMPLATE, {}, "en", some_facts(creditor=creditor))
    for text in (rendered.body_text, rendered.body_html):
        assert "Represented by: Petra Hansen" in text
        assert "Registered debt collector, number 2026/01-INK." in text
        assert "Bundesamt für Justiz, 53094 Bonn, rdg@bfj.example" in text
