"""Write notices to debtors: the subject, text and HTML of an e-mail, an SMS, or a letter.

Each notice has a template in Markdown, translated like the pages; its first paragraph is the
subject. Values are replaced by placeholders before the Markdown is parsed, and are inserted and
escaped afterwards, so that a name cannot inject markup.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from dunwell.accounts.installation.installation_file import FindOperator, find_no_operator
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.claim_links import CODE_MASK, TOKEN_MASK
from dunwell.contact.messages.letters.rendering import (
    AmountDue,
    ShortLetter,
    build_sheet,
    render_plain_letter,
)
from dunwell.contact.messages.letters.sheet import SheetPage
from dunwell.contact.messages.templates.compiled_text import fill
from dunwell.contact.messages.templates.creditors import build_creditor
from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.messages.templates.formatting import NamedTexts, render_greeting, render_money
from dunwell.contact.messages.templates.markdown import parse_line, parse_lines, parse_markdown
from dunwell.contact.messages.templates.placeholders import LANDING_URL
from dunwell.contact.messages.templates.rendering import (
    add_check,
    frame_email,
    render_check_address,
)
from dunwell.contact.messages.templates.sms_parts import replace_typography
from dunwell.contact.notices.notice import Addressee, DebtorNotice
from dunwell.contact.notices.notice_codes import NOTICE_CODE_MASK, has_check_code
from dunwell.contact.notices.occasions.facts import Facts, LetterFacts, compute_amount_due
from dunwell.core.claims.fields import DebtorName
from dunwell.interfaces.landing.render.addresses import build_address
from dunwell.interfaces.web.formats import build_message_filters
from dunwell.interfaces.web.templates import TranslatedTemplates, install_translations
from dunwell.platform.text.translation import SOURCE_LANGUAGE, Language, find_debtor_language

NOTICE_TEMPLATES = Path(__file__).parent / "templates"
# The template variable that collects the values that placeholders replace.
_VALUES = "values"


class _Link(str):
    """The address of the debtor's page, which becomes a link."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class LetterParts:
    """What a letter needs in addition to the facts: the lines of the address window, the debtor's
    name, the date, and the outstanding amount."""

    window: Sequence[str]
    name: DebtorName
    today: date
    outstanding_cents: int
    currency: str


class NoticeWriter:
    """The writer of all notices of one installation."""

    def __init__(
        self, languages: Mapping[str, Language], public_url: str,
        find_operator: FindOperator = find_no_operator,
    ) -> None:  # fmt: skip
        """`find_operator` returns the current operator of the installation."""
        self._find_operator = find_operator
        self._environments = {
            code: _build_environment(language) for code, language in languages.items()
        }
        self._code_page_address = urlsplit(public_url).netloc + "/q"
        self._link_address = public_url + build_address("link", token=TOKEN_MASK)
        self._common_values = {
            "url": _Link(self._link_address),
            "domain": urlsplit(public_url).netloc,
            "code": NOTICE_CODE_MASK,
        }

    def write(self, merchant: Merchant, addressee: Addressee, facts: Facts) -> DebtorNotice:
        """Write the notice in the addressee's language, or in English if there is no catalogue for
        that language.

        Raises MerchantNotConfigured, and LookupError if the facts have no template for an SMS.
        """
        language = self._choose_language(addressee)
        creditor = build_creditor(merchant, self._find_operator())
        check_at = (
            render_check_address(self._common_values["domain"])
            if has_check_code(facts.kind)
            else None
        )
        is_sms = addressee.channel == "SMS"
        name = f"{facts.template}.{'txt' if is_sms else 'md'}"
        text, values = self._render(
            name, merchant, language=language, facts=facts, creditor=creditor
        )
        if is_sms:
            sms = replace_typography(fill(parse_lines(text), values))
            sms = add_check(sms, language, check_at)
            return DebtorNotice(
                kind=facts.kind, addressee=addressee, subject=None, body_text=sms, body_html=None
            )
        subject, _, body = text.strip().partition("\n\n")
        email = frame_email(
            fill(parse_line(subject), values),
            parse_markdown(body),
            values,
            language=language,
            creditor=creditor,
            check_address=check_at,
        )
        return DebtorNotice(
            kind=facts.kind,
            addressee=addressee,
            subject=email.subject,
            body_text=email.body_text,
            body_html=email.body_html,
        )

    def write_letter(
        self, merchant: Merchant, addressee: Addressee, facts: LetterFacts, parts: LetterParts
    ) -> DebtorNotice:
        """Write the notice as a letter. Raises MerchantNotConfigured."""
        language = self._choose_language(addressee)
        creditor = build_creditor(merchant, self._find_operator())
        due_cents = compute_amount_due(facts, parts.outstanding_cents)
        text, values = self._render(
            f"{facts.template}.md",
            merchant,
            language=language,
            facts=facts,
            creditor=creditor,
            letter={
                "due_cents": due_cents,
                "outstanding_cents": parts.outstanding_cents,
                "currency": parts.currency,
                "can_transfer": creditor.bank_iban is not None,
            },
        )
        subject, _, body = text.strip().partition("\n\n")
        letter = ShortLetter(
            subject=fill(parse_line(subject), values),
            greeting=render_greeting(parts.name, find_debtor_language(language)),
            body=parse_markdown(body),
            values=values,
            address=parts.window,
            today=self._environments[language].filters["day"](parts.today),
            reference=facts.reference_number,
            page=SheetPage(self._code_page_address, CODE_MASK, self._link_address),
            due=AmountDue(due_cents, parts.currency, facts.reference_number) if due_cents else None,
        )
        sheet = build_sheet(letter, creditor, language)
        return DebtorNotice(
            kind=facts.kind,
            addressee=addressee,
            subject=letter.subject,
            body_text=render_plain_letter(sheet, letter, language),
            body_html=None,
            sheet=sheet,
        )

    def _choose_language(self, addressee: Addressee) -> str:
        return addressee.language if addressee.language in self._environments else SOURCE_LANGUAGE

    def _render(
        self, name: str, merchant: Merchant, language: str, facts: Facts, creditor: CreditorFacts,
        *, letter: Mapping[str, object] | None = None,
    ) -> tuple[str, NamedTexts]:  # fmt: skip
        """Render the template's Markdown with placeholders, and return it with the values.

        `letter` holds what only a letter says, and is None for an e-mail or an SMS.
        """
        values: dict[str, str] = {}
        shown = {
            "facts": facts, "creditor": creditor, _VALUES: values,
            "timezone": merchant.configuration.timezone, "letter": letter,
        }  # fmt: skip
        text = self._environments[language].get_template(name).render(self._common_values | shown)
        return text, NamedTexts(values, language, creditor.color)


@pass_context
def _replace_by_placeholder(context: Context, value: object) -> str:
    """Collect the value and return its placeholder."""
    values: dict[str, str] = context[_VALUES]
    name = LANDING_URL if isinstance(value, _Link) else str(len(values))
    values[name] = str(value)
    return f"{{{{ {name} }}}}"


# Templates are compiled once per process, even if several writers are built in it.
@cache
def _build_environment(language: Language) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(NOTICE_TEMPLATES),
        extensions=[TranslatedTemplates, "jinja2.ext.i18n"],
        autoescape=False,  # noqa: S701 - values are escaped when they are inserted
        undefined=StrictUndefined,
        finalize=_replace_by_placeholder,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.globals.update(language=language, translations=language.translations)
    environment.filters.update(build_message_filters(language.code))
    environment.filters["money"] = lambda cents, currency: render_money(
        cents, currency, language.code
    )
    install_translations(environment, language)
    return environment
