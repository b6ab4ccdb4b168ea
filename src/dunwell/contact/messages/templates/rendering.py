"""Render a template and the facts of a claim as a message: subject, plain text and HTML with the
same content.

Every e-mail ends with a footer that names the creditor with its address and contact; a template can
neither move nor remove it. The template of the frame is read once, when it is first needed. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2 import Template as Frame
from markupsafe import Markup

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.templates.compiled_text import SlotValues, fill_within
from dunwell.contact.messages.templates.creditors import list_operator
from dunwell.contact.messages.templates.facts import CHECK_MASK, CreditorFacts, MessageFacts
from dunwell.contact.messages.templates.formatting import MessageValues, get_locale, render_line
from dunwell.contact.messages.templates.mail_blocks import (
    BOX,
    BOX_LABEL,
    choose_line_color,
    render_button_style,
)
from dunwell.contact.messages.templates.markdown import (
    ParsedText,
    parse_line,
    parse_lines,
    parse_markdown,
)
from dunwell.contact.messages.templates.placeholders import (
    LANDING_URL,
    MAX_MESSAGE_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    PAY_BY,
    expand_snippets,
    remove_sentences,
)
from dunwell.contact.messages.templates.sms_parts import SmsParts, count_parts, replace_typography
from dunwell.core.workflows.definition import EmailTemplate, SmsTemplate, Texts
from dunwell.platform.text.translation import Language, find_debtor_language

# The maximum number of parts that gateways send as one SMS.
MAX_SMS_PARTS = 10
# The content id of the logo within an e-mail (RFC 2392).
LOGO_ID = "logo@brand"
_TEMPLATES = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class PageButton:
    """The link to the debtor's page, for a body that has none."""

    label: str
    address: str
    style: str

    @classmethod
    def build(cls, values: SlotValues, creditor: CreditorFacts) -> "PageButton | None":
        """Return the button, or None if the message has no link to the debtor's page."""
        address = values.text(LANDING_URL)
        style = render_button_style(creditor.color)
        return cls(values.button_label, address, style) if address else None

    @property
    def text(self) -> str:
        return f"{self.label}:\n{self.address}"


@dataclass(frozen=True, slots=True)
class RenderedEmail:
    subject: str
    body_text: str
    body_html: str


def render_email(
    template: EmailTemplate, snippets: Mapping[str, Texts], language: str, facts: MessageFacts
) -> RenderedEmail:
    """Render an e-mail in one of the workflow's languages. Any template and facts can be rendered
    within the size limit; raises MessageTooLarge.

    A text or snippet without the language uses its first language. A placeholder without a value
    becomes empty.
    """
    snippet_texts = choose_snippets(snippets, language)
    values = MessageValues(facts, language)
    subject = fill_line(template.subject, snippet_texts, values, "EMAIL")
    body = parse_markdown(assemble_text(template.body, snippet_texts, values, "EMAIL"))
    return frame_email(
        subject, body, values=values, language=language, creditor=facts.creditor,
        check_address=render_check_address(facts.landing.domain),
    )  # fmt: skip


def frame_email(
    subject: str, body: ParsedText, values: SlotValues, language: str, creditor: CreditorFacts,
    *, check_address: str | None = None,
) -> RenderedEmail:  # fmt: skip
    """Put a parsed body into the frame of an e-mail: the creditor's name or logo, the subject, the
    summary of the claim and, if the body has none, a button above; the footer below. Raises
    MessageTooLarge.

    `check_address` is the page where a reader can check with a code that the message is real.
    """
    limit = MAX_MESSAGE_CHARACTERS["EMAIL"]
    translation, name = find_debtor_language(language), render_line(creditor.name)
    footer, operator = list_footer(creditor, translation), list_operator(creditor, translation)
    footer += [operator] if operator else []
    if check_address:
        check = translation.translate(
            "Is this message real? Check it at %(address)s with the code %(code)s and the amount.",
            address=check_address, code=CHECK_MASK,
        )  # fmt: skip
        footer.append([check])
    summary = list_summary(values)
    button = PageButton.build(values, creditor) if not body.has_button and summary else None
    overview = "\n".join(f"{label}: {value}" for label, value in summary)
    texts = [name, overview, fill_within(body.text, values, limit), button.text if button else ""]
    return RenderedEmail(
        subject=subject,
        body_text="\n\n".join([*filter(None, texts), f"--\n{_join_footer(footer)}\n"]),
        body_html=_load_frame().render(
            language=language,
            direction=get_locale(language).text_direction,
            subject=subject,
            name=name,
            has_logo=creditor.has_logo,
            logo_id=LOGO_ID,
            color=choose_line_color(creditor.color),
            summary=summary,
            box_style=BOX,
            label_style=BOX_LABEL,
            body=Markup(fill_within(body.html, values, limit)),  # noqa: S704 - escaped value by value
            button=button,
            footer=footer,
            # Placed separately, so that a screen reader reads the code in one piece.
            check=CHECK_MASK,
        ),
    )


def list_summary(values: SlotValues) -> list[tuple[str, str]]:
    """Return the summary of the claim; empty for messages that are not about a claim."""
    if not isinstance(values, MessageValues):
        return []
    translate = values.translation.translate
    rows = [
        (translate("Amount to pay"), values.text("outstanding")),
        (translate("Please pay by"), values.text(PAY_BY)),
        (translate("Reference"), values.text("claim.referenceNumber")),
    ]
    return [(label, value) for label, value in rows if value]


def render_sms(
    template: SmsTemplate, snippets: Mapping[str, Texts], language: str, facts: MessageFacts
) -> tuple[str, SmsParts]:
    """Render an SMS without markup and footer. Lines are kept; consecutive spaces become one.

    Return the text and its parts, which may be more than MAX_SMS_PARTS. Masks have the length of
    their values, so the count is that of the sent text. Raises MessageTooLarge.
    """
    values = MessageValues(facts, language)
    text = assemble_text(template.body, choose_snippets(snippets, language), values, "SMS")
    limit = MAX_MESSAGE_CHARACTERS["SMS"]
    filled = replace_typography(fill_within(parse_lines(text), values, limit))
    sms = add_check(filled, language, render_check_address(facts.landing.domain))
    return sms, count_parts(sms)


def render_check_address(domain: str | None) -> str | None:
    """Return the address of the page where messages are checked, as people write it."""
    return f"{domain}/real" if domain else None


def add_check(sms: str, language: str, check_address: str | None) -> str:
    """Add the check code to an SMS if that needs no further part."""
    if check_address is None:
        return sms
    line = find_debtor_language(language).translate(
        "Real? %(address)s code %(code)s", address=check_address, code=CHECK_MASK
    )
    checked = f"{sms}\n{replace_typography(line)}"
    return checked if count_parts(checked).count <= count_parts(sms).count else sms


def fill_line(
    texts: Texts, snippet_texts: Mapping[str, str], values: MessageValues, channel: Channel
) -> str:
    """Return a subject with all values filled in. Raises MessageTooLarge."""
    line = parse_line(assemble_text(texts, snippet_texts, values, channel))
    return fill_within(line, values, MAX_MESSAGE_CHARACTERS[channel])


def assemble_text(
    texts: Texts, snippet_texts: Mapping[str, str], values: MessageValues, channel: Channel
) -> str:
    """Return a text in the language of the values with its snippets expanded. Sentences with the
    pay-by date are removed if there is none. Raises MessageTooLarge."""
    text = choose_text(texts, values.language)
    text = expand_snippets(text, snippet_texts, MAX_TEXT_CHARACTERS[channel])
    return remove_sentences(text, set() if values.facts.pay_by else {PAY_BY})


def choose_text(texts: Texts, language: str) -> str:
    """Return the text in a language, or in its first language."""
    return texts.get(language) or next(iter(texts.values()), "")


def choose_snippets(snippets: Mapping[str, Texts], language: str) -> dict[str, str]:
    """Return the texts of the snippets in a language."""
    return {name: choose_text(texts, language) for name, texts in snippets.items()}


def list_footer(creditor: CreditorFacts, language: Language) -> list[list[str]]:
    """Return the creditor and its contact data as paragraphs of lines."""
    translate = language.translate
    identity = [translate("This message is from:"), creditor.legal_name]
    identity += creditor.legal_address.splitlines()
    contact = [(translate("E-mail:"), creditor.email), (translate("Phone:"), creditor.phone)]
    entries = [
        (translate("Represented by:"), ", ".join(creditor.representatives)),
        (translate("Register:"), creditor.register),
        (translate("Supervisory authority:"), creditor.supervisory_authority),
        (translate("VAT ID:"), creditor.vat_id),
    ]
    filled = [[f"{label} {text}" for label, text in group if text] for group in (contact, entries)]
    return [[render_line(line) for line in lines] for lines in (identity, *filled) if lines]


def _join_footer(footer: list[list[str]]) -> str:
    return "\n\n".join("\n".join(lines) for lines in footer)


@lru_cache(maxsize=1)
def _load_frame() -> Frame:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("email.html")
