"""Rendering of e-mails: plain text and HTML with the same content and footer."""

import re
from dataclasses import replace
from html import unescape

import pytest

from dunwell.contact.messages.templates.rendering import render_email
from dunwell.core.claims.fields import DebtorName
from dunwell.core.workflows.definition import EmailTemplate
from tests.support.messages import CREDITOR, some_facts

_TEMPLATE = EmailTemplate(
    subject={
        "de": "Erinnerung {{ claim.referenceNumber }}",
        "en": "Reminder for {{ debtor.name }}",
    },
    body={
        "de": "Guten Tag {{ debtor.name }},\n\nbitte zahlen Sie **{{ outstanding }}**.\n\n"
        "{{ snippet.signature }}",
        "en": "Dear {{ debtor.name }},\n\nplease pay **{{ outstanding }}**.",
    },
)
_SNIPPETS = {"signature": {"de": "Ihr Team von\n{{ merchant.name }}", "en": "Your team"}}


def _visible(html: str) -> list[str]:
    """Return the text of the HTML body below its headline, and the targets of its links."""
    head, _, body = html.partition("</h1>")
    name = re.sub(r"<[^>]+>", " ", head.partition("<header>")[2].partition("</header>")[0])
    body = name + re.sub(' href="([^"]*)"([^>]*)>([^<]*)', r">\3: \1", body)
    return unescape(re.sub(r"<[^>]+>", " ", body)).split()


def test_an_email_is_rendered_in_its_language() -> None:
    rendered = render_email(_TEMPLATE, _SNIPPETS, "de", some_facts())
    assert rendered.subject == "Erinnerung R-1"
    assert rendered.body_text == (
        "Nordwind\n\n"
        "Zu zahlender Betrag: 1.000,00\N{NO-BREAK SPACE}€\nAktenzeichen: R-1\n\n"
        "Guten Tag Ada Lovelace,\n\nbitte zahlen Sie 1.000,00\N{NO-BREAK SPACE}€.\n\n"
        "Ihr Team von\nNordwind\n\n"
        "Ansehen und zahlen:\nhttps://pay.example/q/abc\n\n--\n"
        "Diese Nachricht kommt von:\nNordwind Schuhe GmbH\nDeichstraße 1\n20459 Hamburg\n\n"
        "E-Mail: hilfe@nordwind.example\nTelefon: +49 40 1234560\n\n"
        "Ist diese Nachricht echt? Prüfen Sie es auf pay.example/real mit dem Code _chk_code und "
        "dem Betrag.\n"
    )
    assert '<html lang="de" dir="ltr">' in rendered.body_html


def test_plain_text_and_html_have_the_same_content() -> None:
    rendered = render_email(_TEMPLATE, _SNIPPETS, "de", some_facts())
    words = [word for word in rendered.body_text.split() if word != "--"]
    assert "".join(_visible(rendered.body_html)) == "".join(words)


def test_the_html_loads_nothing_from_third_parties() -> None:
    html = render_email(_TEMPLATE, _SNIPPETS, "en", some_facts()).body_html
    assert not re.search(r"<(img|link|script|iframe)|url\(|@import|\bsrc=|\son\w+=", html)
    branded = some_facts(creditor=replace(CREDITOR, has_logo=True))
    html = render_email(_TEMPLATE, _SNIPPETS, "en", branded).body_html
    assert re.findall(r'src="([^"]*)"', html) == ["cid:logo@brand"]
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html


def test_the_footer_names_register_authority_and_vat_id_when_there_are_any() -> None:
    creditor = replace(
        CREDITOR, register="HRB 1", supervisory_authority="Court of Hamburg", vat_id="DE1",
        representatives=("Ina Brandt", "Jan Feddersen"),
    )  # fmt: skip
    rendered = render_email(_TEMPLATE, {}, "en", some_facts(creditor=creditor))
    assert (
        "\n\nRepresented by: Ina Brandt, Jan Feddersen\nRegister: HRB 1\n"
        "Supervisory authority: Court of Hamburg\nVAT ID: DE1\n\n"
    ) in rendered.body_text
    assert "Supervisory authority: Court of Hamburg" in rendered.body_html


def test_an_email_begins_with_the_merchants_name_below_a_line_in_its_colour() -> None:
    creditor = replace(CREDITOR, name="Nord & <b>\r\nWind</b>", color="#0b5d57")
    rendered = render_email(_TEMPLATE, {}, "en", some_facts(creditor=creditor))
    assert rendered.body_text.startswith(
        "Nord & <b> Wind</b>\n\nAmount to pay: €1,000.00\nReference: R-1\n\nDear Ada Lovelace,"
    )
    assert ">Nord &amp; &lt;b&gt; Wind&lt;/b&gt;</p>\n</header>" in rendered.body_html
    assert ";border-top:4px solid #0b5d57;" in rendered.body_html


@pytest.mark.parametrize("color", [None, "#ffe680", "red", "#0b5d57;}x{", "#0B5D57"])
def test_an_invalid_or_invisible_colour_gives_no_line(color: str | None) -> None:
    creditor = replace(CREDITOR, color=color)
    html = render_email(_TEMPLATE, {}, "en", some_facts(creditor=creditor)).body_html
    assert "border-top:4px" not in html
    assert html == render_email(_TEMPLATE, {}, "en", some_facts()).body_html


def test_a_debtors_name_is_text_in_every_part() -> None:
    debtor = DebtorName(last_name="**x** <b>\r\nBcc: a@b")
    rendered = render_email(_TEMPLATE, {}, "en", some_facts(debtor=debtor))
    assert rendered.subject == "Reminder for **x** <b> Bcc: a@b"
    assert "Dear **x** <b> Bcc: a@b,\n" in rendered.body_text
    assert "<title>Reminder for **x** &lt;b&gt; Bcc: a@b</title>" in rendered.body_html
    assert "Dear **x** &lt;b&gt; Bcc: a@b,</p>" in rendered.body_html


def test_a_missing_language_snippet_or_value_does_not_prevent_a_message() -> None:
    template = EmailTemplate(subject={"de": "Betreff"}, body={"de": "A{{ snippet.none }}{{ no }}B"})
    rendered = render_email(template, {}, "fr", some_facts())
    assert rendered.subject == "Betreff"
    assert "\n\nAB\n" in rendered.body_text
