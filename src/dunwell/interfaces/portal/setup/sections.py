"""The parts of the settings: which keys of the merchant file each holds, and its fields. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dunwell.accounts.merchants.configuration import (
    CHANNELS,
    PAGE_FEATURES,
    PAGE_LANGUAGES,
    VERIFICATION_METHODS,
)
from dunwell.interfaces.web.forms import Field, FieldKind

_ADAPTER, _PROVIDER = "adapter:", "provider:"
# As many proofs of a link can be chosen, one after the other, as there are.
_PROOFS_IN_TURN = len(VERIFICATION_METHODS)
BASES = ("CONTRACT", "LEGITIMATE_INTEREST", "LEGAL_OBLIGATION")
ALLOCATIONS = ("COSTS_FIRST", "PRIMARY_FIRST")


@dataclass(frozen=True, slots=True)
class Section:
    """`keys`: those of the merchant file that are saved together. `is_weighty`: what would change
    is shown before it is saved."""

    name: str
    keys: tuple[str, ...]
    fields: tuple[Field, ...]
    is_weighty: bool = False


@dataclass(frozen=True, slots=True)
class Choices:
    """What the installation offers: by channel, the names of adapters and of lines; providers."""

    adapters: Mapping[str, Collection[str]]
    lines: Mapping[str, Collection[str]]
    providers: Collection[str]


def _required(name: str, kind: FieldKind = FieldKind.TEXT, **more: Any) -> Field:
    return Field(name, kind, is_required=True, **more)


_ACCOUNT = (
    _required("name"),
    _required("language"),
    _required("timezone"),
    _required("currency"),
)
_CREDITOR = (
    _required("legal.name"),
    _required("legal.address", FieldKind.BLOCK),
    Field("legal.representatives", FieldKind.LINES),
    Field("legal.register"),
    Field("legal.supervisoryAuthority"),
    Field("legal.vatId"),
    Field("legal.country"),
)
_CONTACT = (_required("contact.email"), Field("contact.phone"), Field("contact.hours"))
_PRIVACY = (
    _required("privacy.authority", FieldKind.BLOCK),
    Field("privacy.basis", FieldKind.PICKS, options=BASES),
    _required("privacy.retention.claimYears", FieldKind.NUMBER),
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
            f"landingPage.verification.{channel}.{place}",
            FieldKind.PICK,
            VERIFICATION_METHODS,
            channel,
        )
        for channel in CHANNELS
        for place in range(_PROOFS_IN_TURN)
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
_GUARDS = (
    _required("guards.maxContactsPerDay", FieldKind.NUMBER),
    _required("guards.maxContactsPerWeek", FieldKind.NUMBER),
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
    _required("modalities.answerWithinDays", FieldKind.NUMBER),
    _required("modalities.pauseDays", FieldKind.NUMBER),
)
_DISPUTES = (
    _required("disputes.answerWithinDays", FieldKind.NUMBER),
    _required("disputes.quietDaysAfterAnswer", FieldKind.NUMBER),
)
_LETTERS = (_required("letters.postalDays", FieldKind.NUMBER),)
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
        Section("channels", ("channels",), _CHANNELS, is_weighty=True),
        Section("letters", ("letters",), _LETTERS, is_weighty=True),
        Section("payment", ("payment",), _PAYMENT, is_weighty=True),
        Section("brand", ("brand",), (Field("brand.color"),)),
        Section("page", ("landingPage",), _PAGE, is_weighty=True),
        Section("guards", ("guards",), _GUARDS, is_weighty=True),
        Section("offers", ("modalities",), _OFFERS, is_weighty=True),
        Section("disputes", ("disputes",), _DISPUTES, is_weighty=True),
        Section("words", ("forbiddenWords",), (), is_weighty=True),
    )
}
# Key of the checklist -> the section whose form sets it.
SECTION_OF = {"legal": "creditor", **{key: s.name for s in SECTIONS.values() for key in s.keys}}


def list_fields(section: Section, document: Mapping[str, Any], choices: Choices) -> list[Field]:
    """With what the installation offers; of what is by language, one field for each."""
    if section.name == "words":
        codes = dict.fromkeys([*PAGE_LANGUAGES, *document.get("forbiddenWords", {})])
        return [Field(f"forbiddenWords.{code}", FieldKind.LINES) for code in codes]
    return [_offer(_keep(each, document), choices) for each in section.fields]


def _keep(field: Field, document: Mapping[str, Any]) -> Field:
    """A file can change a channel or a bank account that is there, and not take it away."""
    account, channels = document["payment"].get("bankAccount"), document["channels"]
    is_account = field.name in ("payment.bankAccount.iban", "payment.bankAccount.holder")
    is_channel = field.name.startswith("channels.") and field.group in channels
    return replace(field, is_required=True) if is_channel or (account and is_account) else field


def _offer(field: Field, choices: Choices) -> Field:
    if field.name == "payment.methods":
        return replace(field, options=tuple(sorted(choices.providers)))
    if field.name.startswith("channels.") and field.name.endswith(".by"):
        adapters = [f"{_ADAPTER}{each}" for each in sorted(choices.adapters.get(field.group, ()))]
        lines = [f"{_PROVIDER}{each}" for each in sorted(choices.lines.get(field.group, ()))]
        return replace(field, options=(*adapters, *lines))
    return field


def flatten(name: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document as the section's fields call its places: where the file has a list or one of two
    keys, a field has one value."""
    given = document.get(SECTIONS[name].keys[0], {})
    if name == "payment":
        methods = [each["provider"] for each in given.get("methods", ())]
        return {"payment": {**given, "methods": methods}}
    if name == "channels":
        return {"channels": {channel: _flatten_channel(each) for channel, each in given.items()}}
    if name == "page":
        proofs = {
            channel: {str(place): proof for place, proof in enumerate(each)}
            for channel, each in given.get("verification", {}).items()
        }
        return {"landingPage": {**given, "verification": proofs}}
    return document


def unflatten(name: str, parts: dict[str, Any]) -> dict[str, Any]:
    """The other way about; what the file wants whole is whole."""
    if name == "payment":
        payment = parts["payment"]
        methods = [{"provider": each} for each in payment["methods"]]
        return {"payment": {"partial": None, **payment, "methods": methods}}
    if name == "channels":
        channels = parts.get("channels", {})
        return {
            "channels": {channel: _unflatten_channel(each) for channel, each in channels.items()}
        }
    if name == "page":
        page = parts["landingPage"]
        proofs = {
            channel: list(each.values()) for channel, each in page.get("verification", {}).items()
        }
        return {"landingPage": {"advice": {}, **page, "verification": proofs}}
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
