"""Every attribute that a template reads exists.

A rename in Python does not change templates, and tests that render pages reach only some branches.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from datetime import date
from gettext import NullTranslations
from typing import get_type_hints

import pytest
from jinja2.environment import Environment

import dunwell.interfaces
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.notices.occasions import facts
from dunwell.core.workflows.versions.word_differences import WordComparison
from dunwell.interfaces.landing.notifications import writer
from dunwell.interfaces.landing.render import pages as debtor_pages
from dunwell.interfaces.landing.render.creditor import Creditor, ShownOperator
from dunwell.interfaces.portal.render import pages as portal_pages
from dunwell.interfaces.web.templates import Page
from dunwell.platform.text.translation import Language
from tests.support.template_check import TemplateCheck
from tests.support.template_types import UNKNOWN, Function, Kinds, list_kinds

_ENGLISH = Language("en", "English", "ltr", NullTranslations())
_STRING = list_kinds(str)
# The values that `PageRenderer.render_page` gives to each page.
_EVERY_PAGE = {
    "domain": _STRING, "style": _STRING, "icon": _STRING, "scripts": UNKNOWN,
    "offered": list_kinds(Sequence[Language]), "kept_query": _STRING, "today": list_kinds(date),
}  # fmt: skip
_DEBTOR_PAGE = {
    **_EVERY_PAGE, "icons": list_kinds(Mapping[str, str]), "operator": list_kinds(ShownOperator),
    "creditor": list_kinds(Creditor), "chosen": _STRING, "notices": _STRING, "kept_form": _STRING,
    "to": frozenset({Function(debtor_pages.DebtorPageContext.address)}),
    "address_of": frozenset({Function(debtor_pages.DebtorPageContext.bare_address)}),
    "session": list_kinds(get_type_hints(debtor_pages.DebtorPageContext)["session"]),
}  # fmt: skip
_PORTAL_PAGE = {
    **_EVERY_PAGE, "person": list_kinds(portal_pages.SignedInPerson),
    "merchant": list_kinds(Merchant),
    "timezone": _STRING, "form_token": _STRING, "area": _STRING, "done": _STRING, "path": _STRING,
    "to": frozenset({Function(portal_pages.PortalPageContext.address)}),
    "may": frozenset({Function(portal_pages.PortalPageContext.may)}),
    "compare_words": frozenset({Function(WordComparison.compare)}),
}  # fmt: skip
_NOTICE = {
    "url": _STRING, "domain": _STRING, "code": _STRING, "timezone": _STRING,
    "creditor": list_kinds(CreditorFacts), "letter": UNKNOWN,
}  # fmt: skip


def list_pages(package: str) -> list[type[Page]]:
    """Return every page of an interface that has a template."""
    for module in pkgutil.walk_packages(dunwell.interfaces.__path__, "dunwell.interfaces."):
        importlib.import_module(module.name)
    found, rest = [], [Page]
    while rest:
        page = rest.pop()
        rest += page.__subclasses__()
        package_of_page = f"dunwell.interfaces.{package}."
        if hasattr(page, "template") and page.__module__.startswith(package_of_page):
            found.append(page)
    return found


def list_fields(page: type[Page]) -> dict[str, Kinds]:
    hints = get_type_hints(page, include_extras=True)
    return {name: list_kinds(hints[name]) for name in page.__struct_fields__}


@pytest.mark.parametrize(
    ("package", "environment", "given"),
    [
        ("landing", debtor_pages.load_environment(_ENGLISH), _DEBTOR_PAGE),
        ("portal", portal_pages.load_environment(_ENGLISH), _PORTAL_PAGE),
    ],
    ids=["landing", "portal"],
)
def test_every_page_template_reads_only_existing_attributes(
    package: str, environment: Environment, given: Mapping[str, Kinds]
) -> None:
    check = TemplateCheck(environment)
    pages = list_pages(package)
    for page in pages:
        check.check(page.template, {**given, **list_fields(page)})
    assert sorted(check.faults) == []
    # Most reads are of values with a known type.
    assert sum(check.reads.values()) > len(check.reads) * 0.9
    names = {name for name in environment.list_templates("html") if name[0] != "_"}
    assert names - {each.template for each in pages} == set()


def test_every_notice_template_reads_only_existing_attributes() -> None:
    environment = writer._build_environment(_ENGLISH)
    check = TemplateCheck(environment)
    facts_types = [
        each
        for each in vars(facts).values()
        if isinstance(each, type) and hasattr(each, "template")
    ]
    names = set(environment.list_templates())
    for each in facts_types:
        for name in names & {f"{each.template}.md", f"{each.template}.txt"}:
            check.check(name, {**_NOTICE, "facts": list_kinds(each)})
    assert len(facts_types) > 10
    assert sorted(check.faults) == []
