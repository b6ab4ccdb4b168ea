"""Render the debtor's pages with the language, session, creditor and operator."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from jinja2 import Environment
from markupsafe import Markup

from dunwell.accounts.installation.installation_file import FindOperator, Operator, find_no_operator
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.interfaces.landing.render.addresses import build_address
from dunwell.interfaces.landing.render.creditor import (
    Creditor,
    ShownOperator,
    describe_creditor,
    describe_operator,
)
from dunwell.interfaces.web.requests import LANGUAGE_PARAMETER
from dunwell.interfaces.web.templates import Page, PageContext, PageRenderer, build_environment
from dunwell.platform.text.translation import Language

# How many descriptions of creditors a process caches.
_MAX_CACHED_CREDITORS = 1_000
_ICON = Markup(
    '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{}</svg>'
)
_CIRCLE = Markup('<circle cx="12" cy="12" r="10"/>')
_ICONS = {
    "done": _ICON.format(_CIRCLE + Markup('<path d="m7.5 12.5 3 3 6-7"/>')),
    "wait": _ICON.format(_CIRCLE + Markup('<path d="M12 6.5V12l3.5 2"/>')),
}
_LANDING = Path(__file__).parents[1]
# The template folders. The name of a template is unique among them.
TEMPLATES = sorted(_LANDING.glob("*/templates"))


class VisitorSession(msgspec.Struct, frozen=True, gc=False):
    """A live session as its pages show it."""

    form_token: str
    minutes_left: int
    # True if the session ends within `EXPIRY_WARNING`.
    ends_soon: bool
    # True if the session can be extended.
    can_be_extended: bool


class DebtorPageContext(PageContext, frozen=True, gc=False):
    """The reader's language, session and claim, which every page for debtors is rendered with."""

    # The language that the reader chose, which is kept in addresses. None if it was detected.
    chosen: str | None = None
    session: VisitorSession | None = None
    # The id of a form whose content is saved when the session is extended from its page.
    kept_form: str = ""
    # The handle of the claim that the page is about, or "".
    handle: str = ""
    # The token of the link, on the pages before the claim is opened.
    link_token: str = ""

    @property
    def notices_address(self) -> str:
        """The address of the legal notice, which names the creditor if the page knows one."""
        if self.link_token:
            return self.address("link_notices", token=self.link_token)
        return self.address("notices")

    def address(self, page: str, /, **values: object) -> str:
        """Return the address of a page for this reader; see `build_address`."""
        if self.chosen is not None:
            values[LANGUAGE_PARAMETER] = self.chosen
        return build_address(page, self.handle, **values)

    def bare_address(self, page: str, /) -> str:
        """Return the address of a page without a query, for a form that adds its own."""
        return build_address(page, self.handle)


class DebtorPages(PageRenderer):
    """The pages of one installation."""

    def __init__(
        self, languages: Mapping[str, Language], domain: str, stylesheet: str,
        assets: Mapping[str, str], phone: str | None = None,
        find_operator: FindOperator = find_no_operator,
    ) -> None:  # fmt: skip
        """`phone` is the operator's, for pages without a creditor. `find_operator` returns the
        current operator of the installation. The other parameters are PageRenderer's."""
        environments = {code: load_environment(each) for code, each in languages.items()}
        super().__init__(languages, environments, domain, stylesheet=stylesheet, assets=assets)
        self.find_operator = find_operator
        self._phone = phone
        self._operator: tuple[Operator | None, ShownOperator] | None = None
        self._creditors: dict[int, tuple[Merchant, Creditor]] = {}

    def render(self, context: DebtorPageContext, page: Page) -> bytes:
        merchant = context.merchant
        values = {
            "icons": _ICONS,
            "operator": self._find_shown_operator(),
            "creditor": self._find_creditor(merchant) if merchant else None,
            "chosen": context.chosen, "to": context.address, "notices": context.notices_address,
            "address_of": context.bare_address, "session": context.session,
            "kept_form": context.kept_form,
        }  # fmt: skip
        return self.render_page(context, page, values)

    def _find_shown_operator(self) -> ShownOperator:
        """Return the description of the operator, cached until the operator changes."""
        operator = self.find_operator()
        if self._operator is None or self._operator[0] is not operator:
            self._operator = operator, describe_operator(operator, self._phone)
        return self._operator[1]

    def _find_creditor(self, merchant: Merchant) -> Creditor:
        """Return the description of the creditor, cached until the merchant changes."""
        cached = self._creditors.get(merchant.merchant_id)
        if cached is not None and _describes_same_creditor(cached[0], merchant):
            return cached[1]
        creditor = describe_creditor(merchant)
        self._creditors.pop(merchant.merchant_id, None)
        if len(self._creditors) >= _MAX_CACHED_CREDITORS:
            self._creditors.pop(next(iter(self._creditors)))
        self._creditors[merchant.merchant_id] = merchant, creditor
        return creditor


def _describes_same_creditor(one: Merchant, other: Merchant) -> bool:
    return (
        one.configuration is other.configuration
        and one.revision == other.revision
        and one.name == other.name
    )


@cache
def load_environment(language: Language) -> Environment:
    return build_environment(language, TEMPLATES)
