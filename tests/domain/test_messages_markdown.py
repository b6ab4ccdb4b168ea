"""The Markdown subset: how texts are rendered, and that values cannot add markup."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.messages.templates.compiled_text import fill
from dunwell.contact.messages.templates.facts import LandingFacts
from dunwell.contact.messages.templates.formatting import MessageValues
from dunwell.contact.messages.templates.markdown import parse_line, parse_markdown
from dunwell.core.claims.fields import DebtorName
from tests.support.messages import some_facts

_USUAL = MessageValues(some_facts(), "en")


def _html(text: str, values: MessageValues = _USUAL) -> str:
    """Render without styles, which tests/browser/test_emails.py checks."""
    return re.sub(r' style="[^"]*"', "", fill(parse_markdown(text).html, values)).strip()


def _text(text: str, values: MessageValues = _USUAL) -> str:
    return fill(parse_markdown(text).text, values)


@pytest.mark.parametrize(
    ("source", "html", "text"),
    [
        ("One.\n\nTwo.", "<p>One.</p>\n<p>Two.</p>", "One.\n\nTwo."),
        ("One\ntwo", "<p>One<br>\ntwo</p>", "One\ntwo"),
        ("**B** and *i*", "<p><strong>B</strong> and <em>i</em></p>", "B and i"),
        ("# Head", "<h1>Head</h1>", "Head"),
        (r"\*no\*", "<p>*no*</p>", "*no*"),
        ("**{{ total }}**", "<p><strong>€1,237.06</strong></p>", "€1,237.06"),
        ("{{total}}", "<p>€1,237.06</p>", "€1,237.06"),
        ("<b>x</b> & y", "<p>&lt;b&gt;x&lt;/b&gt; &amp; y</p>", "<b>x</b> & y"),
        ("`{{ claim.id }}`", "<p>`17`</p>", "`17`"),
        ("{{ no.such }}!", "<p>!</p>", "!"),
    ],
)
def test_a_text_becomes_html_and_plain_text(source: str, html: str, text: str) -> None:
    assert _html(source) == html
    assert _text(source) == text


def test_lists_are_nested_and_numbered() -> None:
    source = "Do:\n\n- one\n  more\n- two\n  1. a\n  2. b\n\nDone."
    assert _text(source) == "Do:\n\n- one\n  more\n- two\n  1. a\n  2. b\n\nDone."
    assert "<li>two<ol><li>a</li>\n<li>b</li>\n</ol>\n</li>" in _html(source)
    assert _text("3. c\n4. d") == "3. c\n4. d"
    assert _html("3. c").startswith('<ol start="3">')


def test_a_link_uses_https_and_is_spelled_out_in_plain_text() -> None:
    source = "[Shop](https://shop.example/a?b=1&c=2)"
    assert _html(source) == '<p><a href="https://shop.example/a?b=1&amp;c=2">Shop</a></p>'
    assert _text(source) == "Shop (https://shop.example/a?b=1&c=2)"


def test_the_landing_page_is_a_link_with_or_without_a_label() -> None:
    link = '<a href="https://pay.example/q/abc">'
    assert _html("Now [pay]({{ landing.url }})") == f"<p>Now {link}pay</a></p>"
    assert _text("Now [pay]({{ landing.url }})") == "Now pay (https://pay.example/q/abc)"
    bare = f"<p>At {link}https://pay.example/q/abc</a></p>"
    assert _html("At {{ landing.url }}") == bare
    assert _html("At [{{ landing.url }}]({{ landing.url }})") == bare
    assert _text("At [{{ landing.url }}]({{ landing.url }})") == "At https://pay.example/q/abc"


def test_a_paragraph_with_only_the_landing_page_is_one_button() -> None:
    button = '<a class="button" href="https://pay.example/q/abc">'
    assert _html("[Pay **now**]({{ landing.url }})") == (
        f"<p>{button}Pay <strong>now</strong></a></p>"
    )
    assert _text("[Pay **now**]({{ landing.url }})") == "Pay now:\nhttps://pay.example/q/abc"
    assert _html("{{ landing.url }}") == f"<p>{button}See and pay</a></p>"
    assert _text("{{ landing.url }}") == "See and pay:\nhttps://pay.example/q/abc"
    assert _html("{{ landing.url }}\n\n{{ landing.url }}").count(button) == 1
    for other in ("[Shop](https://shop.example/)", "- {{ landing.url }}", "Go: {{ landing.url }}"):
        assert "button" not in _html(other)
        assert not parse_markdown(other).has_button


def test_a_paragraph_with_only_a_label_and_value_is_a_box() -> None:
    assert _html("Your number: **{{ customerNumber }}**") == (
        '<p class="box"><span class="quiet">Your number:</span> <strong>C-9</strong></p>'
    )
    assert _text("Your number: **{{ customerNumber }}**") == "Your number: C-9"
    for other in ("Your number: **1**.", "Number **1**", "*Your* number: **1**", "- A: **1**"):
        assert "box" not in _html(other)


def test_without_a_landing_page_a_link_is_its_label() -> None:
    values = MessageValues(some_facts(landing=LandingFacts()), "en")
    assert _html("[Pay]({{ landing.url }})", values) == "<p>Pay</p>"
    assert _text("[Pay]({{ landing.url }})", values) == "Pay"


@pytest.mark.parametrize(
    "target",
    [
        "http://shop.example", "javascript:alert(1)", "//shop.example", "mailto:a@b.example",
        "{{ debtor.name }}", "https://{{ debtor.name }}/", "https://shop.example{{ claim.id }}",
        "https://user@shop.example/", "/relative",
    ],
)  # fmt: skip
def test_other_links_are_reported_and_not_rendered(target: str) -> None:
    source = f"[x]({target})"
    assert parse_markdown(source).bad_links == (target,)
    assert "href" not in _html(source)


def test_a_value_in_an_address_is_percent_encoded() -> None:
    values = MessageValues(some_facts(debtor=DebtorName(last_name='a/b?c="d"&é')), "en")
    html = _html("[x](https://shop.example/?n={{ debtor.lastName }})", values)
    assert 'href="https://shop.example/?n=a%2Fb%3Fc%3D%22d%22%26%C3%A9"' in html


def test_items_are_a_table_in_html_and_aligned_lines_in_plain_text() -> None:
    html = _html("Before\n\n{{ items }}\n\nAfter")
    assert html.startswith('<p>Before</p>\n<table class="items">')
    assert html.endswith("</table>\n<p>After</p>")
    assert _text("{{ items }}").splitlines() == [
        "Original amount RE-2026-1  €1,234.56",
        "  Dated 2 January 2026. Due on 1 February 2026.",
        "Reminder fee                   €2.50",
        (
            "  The fee is for a reminder, because the amount was not paid when it was due. "
            "Dated 1 March 2026."
        ),
        "------------------------------------",
        "Total                      €1,237.06",
        "Still to pay               €1,000.00",
    ]


def test_items_within_a_line_are_reported_and_listed() -> None:
    parsed = parse_markdown("You owe {{ items }}.")
    assert parsed.has_inline_items
    assert fill(parsed.text, _USUAL) == (
        "You owe Original amount RE-2026-1 €1,234.56, Reminder fee €2.50."
    )
    assert not parse_markdown("You owe\n\n{{ items }}").has_inline_items


def test_a_subject_is_one_line_without_markup() -> None:
    assert fill(parse_line("  *Hi* {{ debtor.name }}\n "), _USUAL) == "*Hi* Ada Lovelace"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)


@given(st.text())
def test_a_name_can_neither_add_markup_nor_inject_anything(name: str) -> None:
    values = MessageValues(some_facts(debtor=DebtorName(last_name=name)), "en")
    tags = _Tags()
    tags.feed(_html("**Dear {{ debtor.name }}**, [x](https://a.example/{{ debtor.name }})", values))
    assert tags.seen == ["p", "strong", "a"]


def test_markdown_in_a_name_is_not_interpreted() -> None:
    values = MessageValues(some_facts(debtor=DebtorName(last_name="**x** <b> {{ total }}")), "en")
    assert _html("Dear {{ debtor.name }}", values) == "<p>Dear **x** &lt;b&gt; {{ total }}</p>"
    assert _text("Dear {{ debtor.name }}", values) == "Dear **x** <b> {{ total }}"


@given(st.text(alphabet="ab*_-#[]()<>{}.\n 1\\!&\ue000\ue001"))
def test_parsing_and_filling_any_text_never_fails(source: str) -> None:
    tags = _Tags()
    tags.feed(_html(source))
    assert all(re.fullmatch("p|strong|em|br|ul|ol|li|a|h[1-6]", tag) for tag in tags.seen)
    assert isinstance(_text(source), str)
