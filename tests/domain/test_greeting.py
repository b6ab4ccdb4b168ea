"""The greeting of a message, for persons and companies, in the message's language."""

import pytest
from msgspec import structs

from dunwell.contact.messages.templates.rendering import render_email
from dunwell.core.claims.fields import DebtorName, Salutation
from dunwell.core.workflows.definition import EmailTemplate, Texts
from tests.support.letters import a_letter
from tests.support.messages import some_facts

_TEXTS = dict.fromkeys(("de", "en"), "{{ snippet.greeting }},\n\n{{ outstanding }}")
_EMAIL = EmailTemplate(subject={"de": "Rechnung", "en": "Invoice"}, body=_TEXTS)
_ERIKA = DebtorName(first_name="Erika", last_name="Mustermann")
_COMPANY = DebtorName(company_name="Muster GmbH")


def greet(debtor: DebtorName, language: str, snippets: dict[str, Texts] | None = None) -> str:
    rendered = render_email(_EMAIL, snippets or {}, language, some_facts(debtor=debtor))
    _name, _box, greeting, *_ = rendered.body_text.split("\n\n")
    return greeting


@pytest.mark.parametrize(
    ("debtor", "german", "english"),
    [
        (_ERIKA, "Guten Tag Erika Mustermann,", "Dear Erika Mustermann,"),
        (DebtorName(last_name="Mustermann"), "Guten Tag Mustermann,", "Dear Mustermann,"),
        (_COMPANY, "Sehr geehrte Damen und Herren,", "Dear Sir or Madam,"),
        (DebtorName(last_name=" ", company_name="M"), "Sehr geehrte Damen und Herren,",
         "Dear Sir or Madam,"),
    ],
)  # fmt: skip
def test_a_person_is_greeted_by_name_and_a_company_impersonally(
    debtor: DebtorName, german: str, english: str
) -> None:
    assert (greet(debtor, "de"), greet(debtor, "en")) == (german, english)


@pytest.mark.parametrize(
    ("salutation", "german", "english"),
    [
        ("MR", "Sehr geehrter Herr Mustermann,", "Dear Mr Mustermann,"),
        ("MS", "Sehr geehrte Frau Mustermann,", "Dear Ms Mustermann,"),
        ("NEUTRAL", "Guten Tag Erika Mustermann,", "Dear Erika Mustermann,"),
    ],
)
def test_a_salutation_says_how_a_person_is_greeted(
    salutation: Salutation, german: str, english: str
) -> None:
    debtor = structs.replace(_ERIKA, salutation=salutation, company_name="Muster GmbH")
    assert (greet(debtor, "de"), greet(debtor, "en")) == (german, english)


def test_a_salutation_without_a_last_name_gives_the_neutral_greeting() -> None:
    assert greet(structs.replace(_COMPANY, salutation="MR"), "de") == (
        "Sehr geehrte Damen und Herren,"
    )


def test_a_greeting_snippet_of_the_definition_replaces_the_standard_one() -> None:
    assert greet(_ERIKA, "de", {"greeting": {"de": "Moin {{ debtor.firstName }}"}}) == "Moin Erika,"


def test_the_name_of_a_debtor_cannot_add_markup_to_the_greeting() -> None:
    debtor = DebtorName(last_name="**x** <b> {0} {{ total }}")
    rendered = render_email(_EMAIL, {}, "en", some_facts(debtor=debtor))
    assert "Dear **x** &lt;b&gt; {0} {{ total }}," in rendered.body_html


def test_a_letter_has_the_greeting_of_an_e_mail() -> None:
    letter = a_letter(debtor=_COMPANY, body="{{ snippet.greeting }},")
    assert letter.body_text.startswith("Sehr geehrte Damen und Herren,")
