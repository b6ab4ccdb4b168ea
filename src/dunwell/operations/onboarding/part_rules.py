"""What a merchant file may say, beyond their shape, of the guards, of the debtor's page and of the
ways to pay there. Pure."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dunwell.accounts.merchants.configuration import PAGE_LANGUAGES
from dunwell.contact.messages.merchant_rules import is_all_quiet
from dunwell.core.workflows.definition import ContactHours
from dunwell.core.workflows.definition_rules import find_repeats
from dunwell.operations.onboarding.file import (
    GuardsPart,
    LandingPagePart,
    PaymentMethodPart,
    ScenarioPart,
    find_process_key,
)
from dunwell.operations.onboarding.verification import find_verification_faults
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import read_if_fits, render_nearest

_QUIET_PATH = "/guards/quietHours"


def find_guard_faults(
    document: Mapping[str, Any], definitions: Mapping[int, Any]
) -> Iterator[Fault]:
    """`definitions`: those in files of their own, by place. Parts of another shape are left out:
    the schema has reported them."""
    guards = read_if_fits(document.get("guards"), GuardsPart)
    quiet = guards.quiet_hours if guards is not None else None
    if quiet is None:
        return
    # HH:MM: text order is time order.
    if quiet.since == quiet.until or (quiet.since, quiet.until) == ("00:00", "24:00"):
        message = "Nobody would ever be sent an e-mail or SMS; leave some hours of the day."
        yield Fault(f"{_QUIET_PATH}/to", message, "EMPTY_HOURS")
        return
    for name, hours in _find_contact_hours(document, definitions):
        if is_all_quiet(quiet, hours):
            message = f'All contact hours of "{name}" are quiet; its e-mails would never go out.'
            yield Fault(_QUIET_PATH, message, "EMPTY_HOURS")


def _find_contact_hours(
    document: Mapping[str, Any], definitions: Mapping[int, Any]
) -> Iterator[tuple[str, ContactHours]]:
    """Of the file's processes in the merchant's own zone."""
    parts = read_if_fits(document.get(find_process_key(document)), list[ScenarioPart]) or []
    for index, part in enumerate(parts):
        definition = definitions.get(index, part.definition)
        settings = definition.get("settings") if isinstance(definition, dict) else None
        if not isinstance(settings, dict):
            continue
        hours = read_if_fits(settings.get("contactHours"), ContactHours)
        zone = document.get("timezone")
        if hours is not None and settings.get("timezone", zone) == zone:
            yield part.name, hours


def find_page_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Parts of another shape are left out: the schema has reported them."""
    page = read_if_fits(document.get("landingPage"), LandingPagePart)
    languages = page.languages or [] if page is not None else []
    path = "/landingPage/languages"
    for index, code in enumerate(languages):
        yield from _find_language_fault(f"{path}/{index}", code)
    yield from find_repeats(languages, path)
    for code in page.advice or {} if page is not None else {}:
        yield from _find_language_fault(f"/landingPage/advice/{code}", code)
    if page is not None and page.verification:
        yield from find_verification_faults(page.verification)
    if page is not None and page.features:
        yield from find_repeats(page.features, "/landingPage/features")


def _find_language_fault(path: str, code: str) -> Iterator[Fault]:
    if code not in PAGE_LANGUAGES:
        nearest = render_nearest(code, PAGE_LANGUAGES)
        yield Fault(path, f'The pages do not speak "{code}". {nearest}', "UNKNOWN_LANGUAGE")


def find_method_faults(
    document: Mapping[str, Any], available_providers: Collection[str]
) -> Iterator[Fault]:
    """`available_providers`: the installation's, by name."""
    payment = document.get("payment")
    given = payment.get("methods") if isinstance(payment, dict) else None
    methods = read_if_fits(given, list[PaymentMethodPart]) or []
    for index, method in enumerate(methods):
        if method.provider not in available_providers:
            nearest = render_nearest(method.provider, sorted(available_providers))
            message = f'There is no payment provider "{method.provider}". {nearest}'
            yield Fault(f"/payment/methods/{index}/provider", message, "UNKNOWN_PROVIDER")
    for fault in find_repeats([method.provider for method in methods], "/payment/methods"):
        yield Fault(f"{fault.path}/provider", fault.message, fault.code)
