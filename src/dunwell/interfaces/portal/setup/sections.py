"""The sections of the settings and the reasons to dispute as form fields, mapped to the keys of the
merchant file. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from dunwell.accounts.merchants.configuration import (
    CHANNELS,
    PAGE_FEATURES,
    PAGE_LANGUAGES,
    VERIFICATION_METHODS,
    PaymentMeans,
)
from dunwell.cases.disputes.reasons import ALWAYS_OFFERED, RESERVED_NAMES
from dunwell.interfaces.web.forms import Field, FieldKind, Typed

_ADAPTER, _PROVIDER = "adapter:", "provider:"
# The number of verification methods that can be chosen in order for one channel: all of them.
_MAX_METHODS = len(VERIFICATION_METHODS)
LEGAL_BASES = ("CONTRACT", "LEGITIMATE_INTEREST", "LEGAL_OBLIGATION")
ALLOCATIONS = ("COSTS_FIRST", "PRIMARY_FIRST")


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the settings. `keys` are the keys of the merchant file that are saved
    together. `needs_confirmation` is true if a preview is shown before saving."""

    name: str
    keys: tuple[str, ...]
    fields: tuple[Field, ...]
    needs_confirmation: bool = False


@dataclass(frozen=True, slots=True)
class AvailableChoices:
    """The choices that the installation offers: adapters and delivery providers by channel,
    payment providers, and connections to banks."""

    adapters: Mapping[str, Collection[str]]
    delivery_providers: Mapping[str, Collection[str]]
    providers: Collection[str]
    banks: Collection[str]


def _build_required_field(name: str, kind: FieldKind = FieldKind.TEXT, **more: Any) -> Field:
    return Field(name, kind, is_required=True, **more)


_ACCOUNT = (
    _build_required_field("name"),
    _build_required_field("language"),
    _build_required_field("timezone"),
    _build_required_field("currency"),
)
_CREDITOR = (
    _build_required_field("legal.name"),
    _build_required_field("legal.address", FieldKind.BLOCK),
    Field("legal.representatives", FieldKind.LINES),
    Field("legal.register"),
    Field("legal.supervisoryAuthority"),
    Field("legal.vatId"),
    Field("legal.country"),
)
_CONTACT = (_build_required_field("contact.email"), Field("contact.phone"), Field("contact.hours"))
_PRIVACY = (
    _build_required_field("privacy.authority", FieldKind.BLOCK),
    Field("privacy.basis", FieldKind.PICKS, options=LEGAL_BASES),
    _build_required_field("privacy.retention.claimYears", FieldKind.NUMBER),
    Field("privacy.retention.recordYears", FieldKind.NUMBER),
    Field("privacy.controller", FieldKind.BLOCK),
    Field("privacy.officer", FieldKind.BLOCK),
)
_PAGE = (
    Field("landingPage.languages", FieldKind.PICKS, options=PAGE_LANGUAGES),
    Field("landingPage.features", FieldKind.PICKS, options=PAGE_FEATURES),
    *(
        Field(f"landingPage.advice.{code}", FieldKind.BLOCK, group="advice")
        for code in PAGE_LANGUAGES
    ),
    *(
        Field(
            f"landingPage.verification.{channel}.{position}",
            FieldKind.PICK,
            VERIFICATION_METHODS,
            channel,
        )
        for channel in CHANNELS
        for position in range(_MAX_METHODS)
    ),
)
_PAYMENT = (
    Field("payment.methods", FieldKind.PICKS),
    Field("payment.bankAccount.iban", group="bank"),
    Field("payment.bankAccount.holder", group="bank"),
    Field("payment.bankAccount.bic", group="bank"),
    Field("payment.allocation", FieldKind.PICK, options=ALLOCATIONS, is_required=True),
    Field("payment.partial", FieldKind.PART, group="partial"),
    Field("payment.partial.min", FieldKind.MONEY, group="partial"),
    Field("payment.partial.items", FieldKind.FLAG, group="partial"),
)
_DIRECT_DEBIT = (
    Field("payment.directDebit", FieldKind.PART),
    Field("payment.directDebit.creditorId"),
    Field("payment.directDebit.account.iban", group="debitAccount"),
    Field("payment.directDebit.account.holder", group="debitAccount"),
    Field("payment.directDebit.account.bic", group="debitAccount"),
    Field("payment.directDebit.preNotificationDays", FieldKind.NUMBER, group="debitFiles"),
    Field("payment.directDebit.leadDays", FieldKind.NUMBER, group="debitFiles"),
    Field("payment.directDebit.deliverTo", FieldKind.PICK, group="debitFiles"),
    Field("payment.directDebit.secondRelease", FieldKind.FLAG, group="debitFiles"),
)
_GUARDS = (
    _build_required_field("guards.maxContactsPerDay", FieldKind.NUMBER),
    _build_required_field("guards.maxContactsPerWeek", FieldKind.NUMBER),
    Field("guards.quietHours", FieldKind.PART, group="quiet"),
    Field("guards.quietHours.from", group="quiet"),
    Field("guards.quietHours.to", group="quiet"),
)
_OFFERS = (
    Field("modalities.plan", FieldKind.PART, group="plan"),
    Field("modalities.plan.counts", FieldKind.NUMBERS, group="plan"),
    Field("modalities.plan.minRate", FieldKind.MONEY, group="plan"),
    Field("modalities.plan.firstDateWithinDays", FieldKind.NUMBER, group="plan"),
    Field("modalities.plan.autoApprove", FieldKind.FLAG, group="plan"),
    Field("modalities.deferment", FieldKind.PART, group="deferment"),
    Field("modalities.deferment.maxDays", FieldKind.NUMBER, group="deferment"),
    Field("modalities.deferment.autoApprove", FieldKind.FLAG, group="deferment"),
    _build_required_field("modalities.answerWithinDays", FieldKind.NUMBER),
    _build_required_field("modalities.pauseDays", FieldKind.NUMBER),
)
_DISPUTES = (
    _build_required_field("disputes.answerWithinDays", FieldKind.NUMBER),
    _build_required_field("disputes.quietDaysAfterAnswer", FieldKind.NUMBER),
)
_LETTERS = (_build_required_field("letters.postalDays", FieldKind.NUMBER),)
_CHANNELS = tuple(
    field
    for channel in CHANNELS
    for field in (
        Field(f"channels.{channel}.by", FieldKind.PICK, group=channel),
        *([Field(f"channels.{channel}.from", group=channel)] if channel != "LETTER" else []),
    )
)
SECTIONS: Mapping[str, Section] = {
    each.name: each
    for each in (
        Section("account", ("name", "language", "timezone", "currency"), _ACCOUNT),
        Section("creditor", ("legal",), _CREDITOR),
        Section("contact", ("contact",), _CONTACT),
        Section("privacy", ("privacy",), _PRIVACY),
        Section("channels", ("channels",), _CHANNELS, needs_confirmation=True),
        Section("letters", ("letters",), _LETTERS, needs_confirmation=True),
        Section("payment", ("payment",), _PAYMENT, needs_confirmation=True),
        Section("debit", ("payment",), _DIRECT_DEBIT, needs_confirmation=True),
        Section("brand", ("brand",), (Field("brand.color"),)),
        Section("page", ("landingPage",), _PAGE, needs_confirmation=True),
        Section("guards", ("guards",), _GUARDS, needs_confirmation=True),
        Section("offers", ("modalities",), _OFFERS, needs_confirmation=True),
        Section("disputes", ("disputes",), _DISPUTES, needs_confirmation=True),
        Section("words", ("forbiddenWords",), (), needs_confirmation=True),
    )
}
# The section that sets a key of the checklist: the first that has the key.
SECTION_BY_KEY = {
    "legal": "creditor",
    **{key: each.name for each in reversed([*SECTIONS.values()]) for key in each.keys},
}


def list_fields(
    section: Section, document: Mapping[str, Any], choices: AvailableChoices
) -> list[Field]:
    """Return the section's fields with the choices of the installation; a setting by language has
    one field for each."""
    if section.name == "words":
        codes = dict.fromkeys([*PAGE_LANGUAGES, *document.get("forbiddenWords", {})])
        return [Field(f"forbiddenWords.{code}", FieldKind.LINES) for code in codes]
    return [_add_options(_require_stored(each, document), choices) for each in section.fields]


def _require_stored(field: Field, document: Mapping[str, Any]) -> Field:
    """Make the fields of a stored channel or bank account required: a merchant file can change them
    but not remove them."""
    account, channels = document["payment"].get("bankAccount"), document["channels"]
    is_account = field.name in ("payment.bankAccount.iban", "payment.bankAccount.holder")
    is_channel = field.name.startswith("channels.") and field.group in channels
    return replace(field, is_required=True) if is_channel or (account and is_account) else field


def _add_options(field: Field, choices: AvailableChoices) -> Field:
    if field.name == "payment.methods":
        return replace(field, options=tuple(_list_method_options(choices.providers)))
    if field.name == "payment.directDebit.deliverTo":
        return replace(field, options=tuple(sorted(choices.banks)))
    if field.name.startswith("channels.") and field.name.endswith(".by"):
        adapters = [f"{_ADAPTER}{each}" for each in sorted(choices.adapters.get(field.group, ()))]
        delivery_providers = [
            f"{_PROVIDER}{each}" for each in sorted(choices.delivery_providers.get(field.group, ()))
        ]
        return replace(field, options=(*adapters, *delivery_providers))
    return field


def _list_method_options(providers: Collection[str]) -> Iterator[str]:
    """Yield each provider alone, and each provider with every means of payment. The sandbox
    provider does not ask for a means of payment."""
    for provider in sorted(providers):
        yield provider
        if provider != "sandbox":
            yield from (f"{provider} {means}" for means in get_args(PaymentMeans))


def _split_method(option: str) -> dict[str, str]:
    provider, _, means = option.partition(" ")
    return {"provider": provider, "means": means} if means else {"provider": provider}


def flatten_section(name: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert the document to the structure of the section's fields. For example, a payment method
    with its provider and means becomes one text, and so does the adapter or provider of a channel.
    """
    given = document.get(SECTIONS[name].keys[0], {})
    if name == "payment":
        methods = [
            " ".join(filter(None, (each["provider"], each.get("means"))))
            for each in given.get("methods", ())
        ]
        return {"payment": {**given, "methods": methods}}
    if name == "channels":
        return {"channels": {channel: _flatten_channel(each) for channel, each in given.items()}}
    if name == "page":
        verification = {
            channel: {str(position): method for position, method in enumerate(each)}
            for channel, each in given.get("verification", {}).items()
        }
        return {"landingPage": {**given, "verification": verification}}
    return document


def unflatten_section(name: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Convert the values of the fields to the structure of the document. Keys without a filled-in
    field get an empty value, so that saving clears them."""
    if name == "payment":
        payment = parts["payment"]
        methods = [_split_method(each) for each in payment["methods"]]
        return {"payment": {"partial": None, **payment, "methods": methods}}
    if name == "debit":
        return {"payment": {"directDebit": parts.get("payment", {}).get("directDebit")}}
    if name == "channels":
        channels = parts.get("channels", {})
        return {
            "channels": {channel: _unflatten_channel(each) for channel, each in channels.items()}
        }
    if name == "page":
        page = parts["landingPage"]
        verification = {
            channel: list(each.values()) for channel, each in page.get("verification", {}).items()
        }
        return {"landingPage": {"advice": {}, **page, "verification": verification}}
    if name == "words":
        lists = {code: words for code, words in parts["forbiddenWords"].items() if words}
        return {"forbiddenWords": lists}
    whole: dict[str, Any] = {key: {} for key in SECTIONS[name].keys if key != "name"}
    return {**({} if name == "account" else whole), **parts}


def _flatten_channel(setup: Mapping[str, Any]) -> dict[str, Any]:
    by = (
        f"{_PROVIDER}{setup['provider']}"
        if setup.get("provider")
        else f"{_ADAPTER}{setup.get('adapter')}"
    )
    return {"by": by, "from": setup.get("from")}


def _unflatten_channel(setup: Mapping[str, Any]) -> dict[str, Any]:
    kind, _, name = setup.get("by", "").partition(":")
    sender = {"from": setup["from"]} if "from" in setup else {}
    return {**({kind: name} if name else {}), **sender}


_EMPTY_ROWS = 2
_MAX_OWN_REASONS = 37
_REASONS_FIELD = "disputes.reasons"


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """The fields of one reason to dispute. `name` is their prefix, before ".hidden", ".label.de"
    and, for the merchant's own reasons, ".type"."""

    name: str
    type: str
    is_own: bool
    can_hide: bool


def list_reason_languages(document: Mapping[str, Any]) -> list[str]:
    """Return the languages of the pages and any other language in which a reason has a label."""
    more = [code for each in _list_reasons(document) for code in each.get("label", {})]
    return list(dict.fromkeys([*PAGE_LANGUAGES, *more]))


def list_reason_rows(typed: Typed) -> list[ReasonRow]:
    """Return the rows of the form; the entered values determine the number of the merchant's own
    reasons."""
    rows = [
        ReasonRow(
            f"{_REASONS_FIELD}.{kind}", str(kind), is_own=False, can_hide=kind not in ALWAYS_OFFERED
        )
        for kind in RESERVED_NAMES
    ]
    for number in range(_MAX_OWN_REASONS):
        name = f"{_REASONS_FIELD}.own{number}"
        if f"{name}.type" in typed:
            rows.append(ReasonRow(name, str(typed[f"{name}.type"]), is_own=True, can_hide=True))
    return rows


def flatten_reasons(document: Mapping[str, Any]) -> Typed:
    """Return the reasons to dispute as the fields of their rows, with empty rows for new ones."""
    given, shown = _list_reasons(document), dict[str, str]()
    by_type = {each["type"]: each for each in given}
    own = [each for each in given if each["type"] not in RESERVED_NAMES]
    languages = list_reason_languages(document)
    for kind in RESERVED_NAMES:
        shown |= _flatten_reason(f"{_REASONS_FIELD}.{kind}", by_type.get(kind, {}), languages)
    for number, each in enumerate([*own, *({} for _ in range(_EMPTY_ROWS))][:_MAX_OWN_REASONS]):
        name = f"{_REASONS_FIELD}.own{number}"
        shown |= {f"{name}.type": each.get("type", ""), **_flatten_reason(name, each, languages)}
    return shown


def parse_reasons(typed: Typed, document: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the reasons as in the file, each with the name of its row: first the stored ones in
    their order, then new ones."""
    languages = list_reason_languages(document)
    parsed = [(row.name, _parse_reason(row, typed, languages)) for row in list_reason_rows(typed)]
    filled = [
        (name, each)
        for name, each in parsed
        if len(each) > 1 or (_is_own_reason(name) and each["type"])
    ]
    stored_types = [each["type"] for each in _list_reasons(document)]
    return sorted(filled, key=lambda pair: _get_stored_position(stored_types, pair[1]["type"]))


def _is_own_reason(name: str) -> bool:
    return name.startswith(f"{_REASONS_FIELD}.own")


def _get_stored_position(stored_types: Sequence[str], kind: str) -> int:
    """Return the position of the type among the stored ones; new types come last."""
    return stored_types.index(kind) if kind in stored_types else len(stored_types)


def _flatten_reason(name: str, each: Mapping[str, Any], languages: Sequence[str]) -> dict[str, str]:
    labels = each.get("label", {})
    return {
        f"{name}.hidden": "yes" if each.get("hidden") else "",
        **{f"{name}.label.{code}": labels.get(code, "") for code in languages},
    }


def _parse_reason(row: ReasonRow, typed: Typed, languages: Sequence[str]) -> dict[str, Any]:
    labels = {code: str(typed.get(f"{row.name}.label.{code}", "")).strip() for code in languages}
    labels = {code: text for code, text in labels.items() if text}
    parsed: dict[str, Any] = {"type": row.type.strip()}
    if labels:
        parsed["label"] = labels
    if typed.get(f"{row.name}.hidden"):
        parsed["hidden"] = True
    return parsed


def _list_reasons(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    reasons: list[dict[str, Any]] = document.get("disputes", {}).get("reasons", [])
    return reasons
