"""Check what the structure of a merchant file does not express: account, guards, disputes,
modalities, landing page, payment methods, webhooks, workflows and assignment rules. Pure. Parts
with a wrong structure are skipped here, because the check of the structure reports them."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from dunwell.accounts.installation.installation_file import WebhookReach
from dunwell.accounts.merchants.configuration import (
    PAGE_LANGUAGES,
    VERIFICATION_METHODS,
    BankAccount,
    Channel,
    ChannelSetup,
    DisputeReason,
    DisputeSettings,
    Guards,
    LandingPage,
    LegalDetails,
    MerchantContact,
    ModalitySettings,
    PartialPaymentSettings,
    PaymentMethod,
    PrivacyNotice,
)
from dunwell.cases.assignment.rules import list_rule_faults
from dunwell.cases.disputes.reasons import ALWAYS_OFFERED, RESERVED_NAMES
from dunwell.contact.messages.templates.merchant_rules import is_all_quiet
from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.events.webhooks.endpoint import (
    NewEndpoint,
    find_endpoint_faults,
    find_reach_faults,
)
from dunwell.core.workflows.checking import check_workflow_name, find_definition_faults
from dunwell.core.workflows.definition import Definition, WorkflowContactHours
from dunwell.core.workflows.definition_rules import (
    build_currency_fault,
    build_language_fault,
    build_timezone_fault,
    find_repeat_faults,
)
from dunwell.operations.merchant_file.file import (
    CredentialPart,
    ScenarioPart,
    WebhookPart,
    find_workflows_key,
)
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.codes import (
    is_bic,
    is_country,
    is_currency,
    is_iban,
    is_language,
    is_timezone,
)
from dunwell.platform.text.shape import convert_if_valid, describe_wrong_type, suggest_known
from dunwell.platform.text.texts import is_email_address

# The senders that mobile networks show: a name with at least one letter (GSM 03.40, alphanumeric),
# a number, or a short code.
_SMS_SENDER = re.compile(
    r"(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9 ]{1,11}|\+[1-9][0-9]{5,14}|[1-9][0-9]{2,5}"
)


def find_account_faults(
    document: Mapping[str, Any], available_adapters: Mapping[str, Collection[str]]
) -> Iterator[Fault]:
    yield from _find_code_faults(document)
    contact = convert_if_valid(document.get("contact"), MerchantContact)
    if contact is not None and not is_email_address(contact.email):
        yield _build_email_fault(contact.email, "/contact/email")
    payment = document.get("payment")
    if isinstance(payment, dict) and "bankAccount" in payment:
        yield from _find_bank_faults(payment["bankAccount"])
    channels = convert_if_valid(document.get("channels"), dict[Channel, ChannelSetup]) or {}
    for name, setup in channels.items():
        yield from _find_channel_faults(name, setup, available_adapters.get(name, ()))
    credentials = convert_if_valid(document.get("credentials"), list[CredentialPart]) or []
    names = [credential.name for credential in credentials]
    for fault in find_repeat_faults(names, "/credentials"):
        yield Fault(f"{fault.path}/name", fault.message, fault.code)


def _find_code_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    checks = (
        ("language", is_language, build_language_fault),
        ("timezone", is_timezone, build_timezone_fault),
        ("currency", is_currency, build_currency_fault),
    )
    for name, is_known, describe in checks:
        code = document.get(name)
        if isinstance(code, str) and not is_known(code):
            yield describe(code, f"/{name}")


def _find_bank_faults(given: Any) -> Iterator[Fault]:
    if given is None:
        message = f"{describe_wrong_type(None, ['object'])} A bank account cannot be removed."
        yield Fault("/payment/bankAccount", message, "WRONG_TYPE")
    account = convert_if_valid(given, BankAccount)
    if account is None:
        return
    if not is_iban(account.iban):
        message = (
            "This is not a valid IBAN: country, length or check digits are wrong. Copy it again."
        )
        yield Fault("/payment/bankAccount/iban", message, "WRONG_IBAN")
    if account.bic is not None and not is_bic(account.bic):
        message = "This is not a valid BIC; use 8 or 11 letters and digits, or leave it out."
        yield Fault("/payment/bankAccount/bic", message, "WRONG_BIC")


def _find_channel_faults(
    name: str, setup: ChannelSetup, adapters: Collection[str]
) -> Iterator[Fault]:
    path = f"/channels/{name}"
    if (setup.adapter is None) == (setup.provider is None):
        message = (
            'Give "adapter" or "provider" (a delivery provider of the installation file), not both.'
        )
        yield Fault(f"{path}/provider", message, "REQUIRED")
    elif setup.adapter is not None and not adapters:
        yield Fault(path, f"{name} is not available in this release; remove it.", "NOT_AVAILABLE")
        return
    elif setup.adapter is not None and setup.adapter not in adapters:
        nearest = suggest_known(setup.adapter, sorted(adapters))
        message = f'There is no adapter "{setup.adapter}" for {name}. {nearest}'
        yield Fault(f"{path}/adapter", message, "UNKNOWN_ADAPTER")
    if setup.sender is None:
        if name != "LETTER":
            yield Fault(f"{path}/from", '"from" is required: the sender debtors see.', "REQUIRED")
        return
    if name == "LETTER":
        message = 'A letter\'s sender is the creditor under "legal"; remove "from".'
        yield Fault(f"{path}/from", message, "NOT_ALLOWED")
    if name == "EMAIL" and not is_email_address(setup.sender):
        yield _build_email_fault(setup.sender, f"{path}/from")
    if name == "SMS" and not _SMS_SENDER.fullmatch(setup.sender):
        message = (
            f'"{setup.sender}" cannot be an SMS\'s sender; use up to 11 letters, digits and '
            "spaces, a number in international format with a leading plus, or a short code."
        )
        yield Fault(f"{path}/from", message, "WRONG_SENDER")


def _build_email_fault(text: str, path: str) -> Fault:
    message = f'"{text}" is not a plain e-mail address such as "claims@example.com".'
    return Fault(path, message, "WRONG_EMAIL")


_QUIET_PATH = "/guards/quietHours"
# The maximum numbers of contacts that a file may allow. A stored configuration may have more.
_MAX_CONTACTS = {"maxContactsPerDay": 20, "maxContactsPerWeek": 50}


def find_guard_faults(
    document: Mapping[str, Any], definitions: Mapping[int, Any]
) -> Iterator[Fault]:
    """Yield the faults of the guards. `definitions` maps the position of a workflow in the list to
    its definition, if that is in a separate file."""
    given = document.get("guards")
    guards = convert_if_valid(given, Guards)
    if guards is not None and isinstance(given, Mapping):
        for key, limit in _MAX_CONTACTS.items():
            if given.get(key, 0) > limit:
                yield Fault(f"/guards/{key}", f"Use {limit} or less.", "TOO_LARGE")
    quiet = guards.quiet_hours if guards is not None else None
    if quiet is None:
        return
    # In HH:MM, text order is time order.
    if quiet.since == quiet.until or (quiet.since, quiet.until) == ("00:00", "24:00"):
        message = "No e-mail or SMS could ever be sent; allow some hours of the day."
        yield Fault(f"{_QUIET_PATH}/to", message, "EMPTY_HOURS")
        return
    for name, hours in _list_contact_hours(document, definitions):
        if is_all_quiet(quiet, hours):
            message = (
                f'All contact hours of "{name}" are quiet hours; its e-mails would never be sent.'
            )
            yield Fault(_QUIET_PATH, message, "EMPTY_HOURS")


def _list_contact_hours(
    document: Mapping[str, Any], definitions: Mapping[int, Any]
) -> Iterator[tuple[str, WorkflowContactHours]]:
    """Yield the name and the contact hours of each workflow that uses the merchant's time zone."""
    parts = convert_if_valid(document.get(find_workflows_key(document)), list[ScenarioPart]) or []
    for index, part in enumerate(parts):
        definition = definitions.get(index, part.definition)
        settings = definition.get("settings") if isinstance(definition, dict) else None
        if not isinstance(settings, dict):
            continue
        hours = convert_if_valid(settings.get("contactHours"), WorkflowContactHours)
        zone = document.get("timezone")
        if hours is not None and settings.get("timezone", zone) == zone:
            yield part.name, hours


_REASONS_PATH = "/disputes/reasons"
# A name that is at least this similar to a built-in reason counts as a typing error.
_TYPO_SIMILARITY = 0.9


def find_dispute_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    given = document.get("disputes")
    if isinstance(given, dict) and "reasons" not in given:
        yield Fault(_REASONS_PATH, '"reasons" is required.', "REQUIRED")
    disputes = convert_if_valid(given, DisputeSettings)
    reasons = disputes.reasons if disputes is not None else ()
    for index, reason in enumerate(reasons):
        yield from _find_reason_faults(reason, f"{_REASONS_PATH}/{index}")
    for fault in find_repeat_faults([reason.type for reason in reasons], _REASONS_PATH):
        yield Fault(f"{fault.path}/type", fault.message, fault.code)


def _find_reason_faults(reason: DisputeReason, path: str) -> Iterator[Fault]:
    if reason.is_hidden and reason.type in ALWAYS_OFFERED:
        message = f"{reason.type} is always offered, so that every debtor can dispute a claim."
        yield Fault(f"{path}/hidden", message, "NOT_ALLOWED")
    if reason.type not in RESERVED_NAMES:
        yield from _find_own_reason_faults(reason, path)
    for code in reason.labels:
        if not is_language(code):
            yield build_language_fault(code, f"{path}/label/{code}")


def _find_own_reason_faults(reason: DisputeReason, path: str) -> Iterator[Fault]:
    similar = difflib.get_close_matches(reason.type, RESERVED_NAMES, n=1, cutoff=_TYPO_SIMILARITY)
    if similar:
        message = f'Did you mean "{similar[0]}"? Otherwise choose a name that is less similar.'
        yield Fault(f"{path}/type", message, "NOT_ALLOWED")
    elif not reason.labels:
        message = (
            f'"{reason.type}" is not one of the listed reasons, so it needs a "label" in a '
            "language."
        )
        yield Fault(f"{path}/label", message, "REQUIRED")


_PLAN = "/modalities/plan"


def find_modality_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    modalities = convert_if_valid(document.get("modalities"), ModalitySettings)
    plan = modalities.plan if modalities is not None else None
    if plan is None:
        return
    if not plan.counts and plan.min_rate is None:
        message = 'State the limits of payment plans: "counts", "minRate", or both.'
        yield Fault(f"{_PLAN}/counts", message, "REQUIRED")
    yield from find_repeat_faults(plan.counts or [], f"{_PLAN}/counts")


def find_partial_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    payment = document.get("payment")
    given = payment.get("partial") if isinstance(payment, dict) else None
    part = convert_if_valid(given, PartialPaymentSettings)
    if part is not None and part.min_amount is None and not part.items:
        message = 'State which partial payments are allowed: "min", "items", or both.'
        yield Fault("/payment/partial/min", message, "REQUIRED")


def _find_verification_faults(page: LandingPage) -> Iterator[Fault]:
    for channel, wanted in page.verification.items():
        path = f"/landingPage/verification/{channel}"
        if not wanted:
            message = f"Use NONE or a list of {', '.join(VERIFICATION_METHODS)}."
            yield Fault(path, message, "NOT_ALLOWED")
        elif wanted != "NONE":
            yield from find_repeat_faults(wanted, path)


def find_identity_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    legal = convert_if_valid(document.get("legal"), LegalDetails)
    if legal is not None and legal.country is not None and not is_country(legal.country):
        message = f'"{legal.country}" is not a country code of ISO 3166-1, such as "DE" or "AT".'
        yield Fault("/legal/country", message, "UNKNOWN_COUNTRY")
    privacy = convert_if_valid(document.get("privacy"), PrivacyNotice)
    if privacy is not None:
        yield from find_repeat_faults(privacy.basis, "/privacy/basis")


def find_page_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    page = convert_if_valid(document.get("landingPage"), LandingPage)
    if page is None:
        return
    path = "/landingPage/languages"
    for index, code in enumerate(page.languages):
        yield from _find_language_fault(f"{path}/{index}", code)
    yield from find_repeat_faults(page.languages, path)
    for code in page.advice:
        yield from _find_language_fault(f"/landingPage/advice/{code}", code)
    yield from _find_verification_faults(page)
    yield from find_repeat_faults(page.features, "/landingPage/features")


def _find_language_fault(path: str, code: str) -> Iterator[Fault]:
    if code not in PAGE_LANGUAGES:
        nearest = suggest_known(code, PAGE_LANGUAGES)
        yield Fault(
            path, f'The debtor pages are not available in "{code}". {nearest}', "UNKNOWN_LANGUAGE"
        )


def find_method_faults(
    document: Mapping[str, Any], available_providers: Collection[str]
) -> Iterator[Fault]:
    """Yield the faults of the payment methods. `available_providers` are the names of the
    installation's payment providers."""
    payment = document.get("payment")
    given = payment.get("methods") if isinstance(payment, dict) else None
    methods = convert_if_valid(given, list[PaymentMethod]) or []
    for index, method in enumerate(methods):
        if method.provider not in available_providers:
            nearest = suggest_known(method.provider, sorted(available_providers))
            message = f'There is no payment provider "{method.provider}". {nearest}'
            yield Fault(f"/payment/methods/{index}/provider", message, "UNKNOWN_PROVIDER")
    named = [" ".join(filter(None, (each.provider, each.means))) for each in methods]
    for fault in find_repeat_faults(named, "/payment/methods"):
        yield Fault(f"{fault.path}/provider", fault.message, fault.code)


def find_webhook_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    entries = document.get("webhooks")
    seen: set[str] = set()
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        part = convert_if_valid(entry, WebhookPart)
        if part is None:
            continue
        path = f"/webhooks/{index}"
        if part.url in seen:
            yield Fault(f"{path}/url", "This address is already in the list.", "REPEATED")
        seen.add(part.url)
        for fault in find_endpoint_faults(build_wanted_endpoint(part)):
            yield Fault(path + fault.path, fault.message, fault.code)


def find_webhook_reach_faults(
    parts: Sequence[WebhookPart], reach: WebhookReach, *, is_development: bool
) -> Iterator[Fault]:
    """Yield a fault for each webhook with a forbidden address. `reach` is where the installation
    file allows the merchant's webhooks to be sent."""
    for index, part in enumerate(parts):
        for fault in find_reach_faults(part.url, reach, is_development=is_development):
            yield Fault(f"/webhooks/{index}{fault.path}", fault.message, fault.code)


def build_wanted_endpoint(part: WebhookPart, kept: str | None = None) -> NewEndpoint:
    """Return the webhook that the file describes. `kept` is the authorization of the stored
    endpoint, which is used if the file gives none."""
    authorization = kept if part.authorization is UNSET else part.authorization
    return NewEndpoint(part.url, tuple(part.events), authorization)


def find_workflow_faults(
    document: Mapping[str, Any], definitions: Mapping[int, Any]
) -> Iterator[Fault]:
    """Yield the faults of the workflows or scenarios and of the assignment rules. `definitions`
    maps the position of a workflow in the list to its definition, if that is in a separate file."""
    key = find_workflows_key(document)
    given = document.get(key)
    entries = given if isinstance(given, list) else []
    for index, entry in enumerate(entries):
        if isinstance(entry, dict):
            yield from _find_entry_faults(entry, f"/{key}/{index}", definitions.get(index))
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in entries]
    for fault in find_repeat_faults(_list_comparable(names), f"/{key}"):
        yield Fault(f"{fault.path}/name", fault.message, fault.code)
    yield from _find_mixed_kind_faults(document)
    rules = document.get("assignmentRules")
    if isinstance(rules, dict):
        for fault in list_rule_faults(rules):
            yield Fault(f"/assignmentRules{fault.path}", fault.message, fault.code)


def _find_mixed_kind_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the faults of a file that mixes workflows and scenarios. A merchant works with
    workflows or, until it is switched, with scenarios."""
    if document.get("workflows") and document.get("scenarios"):
        message = "A merchant has workflows or scenarios; remove one of the two."
        yield Fault("/scenarios", message, "WORKFLOWS_OR_SCENARIOS")
    if document.get("switchedToWorkflows") is False and document.get("workflows"):
        message = 'A merchant with scenarios has no workflows; name them "scenarios", or switch it.'
        yield Fault("/workflows", message, "NOT_SWITCHED")
    if document.get("switchedToWorkflows") is True and document.get("scenarios"):
        message = 'A merchant with workflows has no scenarios; name them "workflows".'
        yield Fault("/scenarios", message, "SWITCHED")


def _list_comparable(names: list[Any]) -> list[object]:
    """Return the names, with a unique object in place of each value that is not a string. Such
    values are therefore not reported as repeated names."""
    return [name if isinstance(name, str) else object() for name in names]


def _find_entry_faults(entry: Mapping[str, Any], path: str, loaded: Any) -> Iterator[Fault]:
    yield from _find_name_faults(entry.get("name"), path)
    if ("definition" in entry) == ("file" in entry):
        message = 'Give exactly one of "definition" and "file".'
        yield Fault(path, message, "DEFINITION_OR_FILE")
        return
    if "definition" in entry:
        yield from (
            locate_fault(fault, path, is_inline=True)
            for fault in _find_definition_faults(entry["definition"])
        )
    elif loaded is not None:
        yield from (
            locate_fault(fault, path, is_inline=False) for fault in _find_definition_faults(loaded)
        )


def locate_fault(fault: Fault, path: str, *, is_inline: bool) -> Fault:
    """Move a fault of a definition to its place in the merchant file. `path` points to the
    workflow."""
    if is_inline:
        return Fault(f"{path}/definition{fault.path}", fault.message, fault.code)
    place = fault.path or "The whole"
    return Fault(f"{path}/file", f"{place}: {fault.message}", fault.code)


def _find_name_faults(name: Any, path: str) -> Iterator[Fault]:
    if not isinstance(name, str):
        return
    try:
        check_workflow_name(name)
    except ValidationError as refusal:
        for fault in refusal.faults:
            yield Fault(path + fault.path, fault.message, fault.code)


def _find_definition_faults(document: Any) -> list[Fault]:
    """Return the faults of a definition, including those of placeholders in its templates."""
    faults = find_definition_faults(document)
    definition = convert_if_valid(document, Definition)
    if definition is not None:
        faults += list_template_faults(definition)
    return faults
