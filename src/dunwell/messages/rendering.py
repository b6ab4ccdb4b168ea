"""A template and a claim's facts become a message: subject, plain text and HTML, equal in content.

Pure but for the frame's template, which is read once. The footer with the creditor's name, address
and contact is part of every message; a template can neither move nor drop it. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2 import Template as Frame
from markupsafe import Markup

from dunwell.kit.colors import is_color, measure_contrast
from dunwell.messages.creditors import list_operator
from dunwell.messages.facts import CHECK_MASK, CreditorFacts, MessageFacts
from dunwell.messages.formatting import Values, find_locale, render_line
from dunwell.messages.gsm import Parts, count_parts, write_plainly
from dunwell.messages.markdown import Parsed, parse_line, parse_lines, parse_markdown
from dunwell.messages.parts import Source, fill
from dunwell.messages.placeholders import expand_snippets
from dunwell.messages.wording import Wording, find_wording
from dunwell.workflows.definition import EmailTemplate, SmsTemplate, Texts

# Of what is no text (WCAG 2, 1.4.11).
_LEAST_CONTRAST = 3.0
# What gateways carry as one message of SMS.
MAX_PARTS = 10
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Rendered:
    subject: str
    body_text: str
    body_html: str


def render_email(
    template: EmailTemplate, snippets: Mapping[str, Texts], language: str, facts: MessageFacts
) -> Rendered:
    """The e-mail in one of the definition's languages. Nothing it is given makes it fail.

    A text or snippet that lacks the language is taken in the first one it has; a placeholder the
    claim has no value for becomes nothing.
    """
    words = choose_words(snippets, language)
    values = Values(facts, language)
    subject = fill(
        parse_line(expand_snippets(choose_text(template.subject, language), words)), values
    )
    body = parse_markdown(expand_snippets(choose_text(template.body, language), words))
    return frame_email(
        subject, body, values=values, language=language, creditor=facts.creditor,
        check_at=name_check_page(facts.landing.domain),
    )  # fmt: skip


def frame_email(
    subject: str, body: Parsed, values: Source, language: str, creditor: CreditorFacts,
    *, check_at: str | None = None,
) -> Rendered:  # fmt: skip
    """A parsed body with its values in place, below the creditor's name, above the footer.
    check_at: where a reader can check with a code of this message that it is real."""
    wording, name = find_wording(language), render_line(creditor.name)
    footer, operator = list_footer(creditor, wording), list_operator(creditor, wording)
    footer += [operator] if operator else []
    footer += [[write_check(wording.check, check_at)]] if check_at else []
    return Rendered(
        subject=subject,
        body_text=f"{name}\n\n{fill(body.text, values)}\n\n--\n{_join_footer(footer)}\n",
        body_html=_frame().render(
            language=language,
            direction=find_locale(language).text_direction,
            subject=subject,
            name=name,
            color=choose_rule_color(creditor.color),
            body=Markup(fill(body.html, values)),  # noqa: S704 - escaped value by value
            footer=footer,
        ),
    )


def choose_rule_color(color: str | None) -> str | None:
    """The brand's, for the line on top; none where it would not be seen on a white ground."""
    if color is None or not is_color(color):
        return None
    return color if measure_contrast(color, "#ffffff") >= _LEAST_CONTRAST else None


def render_sms(
    template: SmsTemplate, snippets: Mapping[str, Texts], language: str, facts: MessageFacts
) -> tuple[str, Parts]:
    """No markup and no footer: it says who writes in its own words. Lines are kept, blanks folded.

    The text in one of the definition's languages, and its parts; there may be more than
    MAX_PARTS of them. Masks are as long as what they stand for, so the parts are those of the text
    that is sent."""
    text = expand_snippets(choose_text(template.body, language), choose_words(snippets, language))
    filled = write_plainly(fill(parse_lines(text), Values(facts, language)))
    sms = add_check(filled, language, name_check_page(facts.landing.domain))
    return sms, count_parts(sms)


def name_check_page(domain: str | None) -> str | None:
    """Where people check a message, as they write it."""
    return f"{domain}/real" if domain else None


def add_check(sms: str, language: str, check_at: str | None) -> str:
    """With the code it can be checked by, where that makes it no longer by a part."""
    if check_at is None:
        return sms
    line = write_plainly(write_check(find_wording(language).short_check, check_at))
    checked = f"{sms}\n{line}"
    return checked if count_parts(checked).count <= count_parts(sms).count else sms


def write_check(words: str, check_at: str) -> str:
    return words.format(code=CHECK_MASK, address=check_at)


def choose_text(texts: Texts, language: str) -> str:
    """A text in a language, or in the first it has."""
    return texts.get(language) or next(iter(texts.values()), "")


def choose_words(snippets: Mapping[str, Texts], language: str) -> dict[str, str]:
    """The snippets' texts in a language."""
    return {name: choose_text(texts, language) for name, texts in snippets.items()}


def list_footer(creditor: CreditorFacts, wording: Wording) -> list[list[str]]:
    """Who writes, and how to reach them: paragraphs of lines."""
    who = [wording.sent_by, creditor.legal_name, *creditor.legal_address.splitlines()]
    contact = [(wording.email, creditor.email), (wording.phone, creditor.phone)]
    entries = [
        (wording.represented_by, ", ".join(creditor.representatives)),
        (wording.register, creditor.register),
        (wording.supervisory_authority, creditor.supervisory_authority),
        (wording.vat_id, creditor.vat_id),
    ]
    told = [[label.format(text) for label, text in group if text] for group in (contact, entries)]
    return [[render_line(line) for line in lines] for lines in (who, *told) if lines]


def _join_footer(footer: list[list[str]]) -> str:
    return "\n\n".join("\n".join(lines) for lines in footer)


@lru_cache(maxsize=1)
def _frame() -> Frame:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("email.html")
