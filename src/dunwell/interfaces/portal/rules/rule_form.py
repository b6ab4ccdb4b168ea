"""A rule as a form shows it, and what a form says as a rule. Whatever was typed is kept as it was,
so that nothing is lost to a fault; what was not touched reads back as it was."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from dunwell.cases.assignment.document import RuleDocument, ShareDocument
from dunwell.core.claims.conditions import list_values
from dunwell.core.workflows.definition import Bounds, Condition, TextTest
from dunwell.interfaces.portal.web.visit import Fields
from dunwell.interfaces.web.amounts import read_amount, render_plain

_MONEY, _NUMBERS = ("outstanding", "total"), ("age", "primaryAgeDays")
_TEXTS, _HOWS = (
    ("email", "mobileNumber", "city", "postalCode"),
    ("equals", "startsWith", "endsWith"),
)
_LISTS, _BOXES = ("country", "language"), ("itemType", "has")
_ATTRIBUTES = {
    field.encode_name: field.name for field in msgspec.structs.fields(Condition)
}  # fmt: skip
_GAPS = re.compile(r"[\s,;]+")
# Rows there are beside those that are filled.
_MORE_FIELDS, _LEAST_SHARES = 2, 2


# The field, the code, and the words where the code has none in the reader's language.
FormFault: TypeAlias = tuple[str, str, str]


class TypedRule(msgspec.Struct, frozen=True, gc=False):
    """texts: by field: `outstanding_min`, `city_startsWith`, `country`. boxes: what is ticked.
    fields: own fields and their values. shares: workflows and percentages."""

    name: str = ""
    is_active: bool = True
    texts: Mapping[str, str] = {}
    boxes: Mapping[str, Sequence[str]] = {}
    fields: Sequence[tuple[str, str]] = ()
    shares: Sequence[tuple[str, str]] = ()


def fill_form(rule: RuleDocument | None, currency: str, language: str) -> TypedRule:
    """none: an empty one."""
    if rule is None:
        return make_room(TypedRule())
    when = rule.when or Condition()
    target = rule.target
    shares = [(target, "")] if isinstance(target, str) else _list_shares(target)
    return make_room(
        TypedRule(
            name=rule.name,
            is_active=rule.active,
            texts=dict(_list_texts(when, currency, language)),
            boxes={name: _list_of(getattr(when, _ATTRIBUTES[name])) for name in _BOXES},
            fields=[*(when.custom_fields or {}).items()],
            shares=shares,
        )
    )


def make_room(typed: TypedRule, *, fields: int = _MORE_FIELDS, shares: int = 0) -> TypedRule:
    """With so many empty rows to fill; there are two for workflows in any case."""
    targets = [pair for pair in typed.shares if any(pair)]
    rows = max(len(targets) + shares, _LEAST_SHARES)
    return msgspec.structs.replace(
        typed,
        fields=[*typed.fields, *[("", "")] * fields],
        shares=[*targets, *[("", "")] * (rows - len(targets))],
    )


def find_form_faults(typed: TypedRule) -> Iterator[FormFault]:
    """Own fields that a rule cannot have so: without a name, or with one name twice."""
    names = [name for name, _ in typed.fields]
    for place, name in enumerate(names):
        if not name:
            yield f"field_name_{place}", "REQUIRED", ""
        elif name in names[:place]:
            yield f"field_name_{place}", "REPEATED", ""


def read_form(fields: Fields) -> TypedRule:
    names = [f"{name}_{side}" for name in (*_MONEY, *_NUMBERS) for side in ("min", "max")]
    plain = {name: fields.text(name) for name in (*names, *_LISTS)}
    # A blank at an end may be meant.
    exact = {f"{name}_{how}": fields[f"{name}_{how}"] for name in _TEXTS for how in _HOWS}
    exact = {name: text if text.strip() else "" for name, text in exact.items()}
    pairs = zip(fields.all("field_name"), fields.all("field_value"), strict=False)
    shares = zip(fields.all("share"), fields.all("percent"), strict=False)
    return TypedRule(
        name=fields.text("name"),
        is_active=fields["active"] == "yes",
        texts={**plain, **exact},
        boxes={name: fields.all(name) for name in _BOXES},
        fields=[(name.strip(), value) for name, value in pairs if name.strip() or value.strip()],
        shares=[(name, percent.strip()) for name, percent in shares if name or percent.strip()],
    )


def write_rule(
    typed: TypedRule, known: RuleDocument | None, currency: str, language: str
) -> dict[str, Any]:
    """As people write it, to be checked (`check_rule`). known: the rule it was filled from, whose
    ways of writing are kept."""
    when = _write_condition(typed, known, currency, language)
    rule: dict[str, Any] = {"name": typed.name, "active": typed.is_active}
    rule["target"] = _write_target(typed, known)
    return {**rule, "when": when} if when else rule


def find_field(path: str) -> str:
    """The field that a fault with this pointer stands beside."""
    parts = path.removeprefix("/when").split("/")[1:] or ["name"]
    first, rest = parts[0], parts[1:]
    if first == "target":
        place = rest[0] if rest else "0"
        return f"percent_{place}" if rest[1:] == ["percent"] else f"share_{place}"
    if first in (*_MONEY, *_NUMBERS):
        return f"{first}_{rest[0] if rest else 'min'}"
    if first in _TEXTS:
        return f"{first}_{rest[0] if rest else 'equals'}"
    return "field_name_0" if first == "customFields" else first


def _list_texts(when: Condition, currency: str, language: str) -> Iterator[tuple[str, str]]:
    for name in (*_MONEY, *_NUMBERS):
        bounds: Bounds = getattr(when, _ATTRIBUTES[name]) or Bounds()
        for side, value in (("min", bounds.min), ("max", bounds.max)):
            text = "" if value is None else str(value)
            is_money = name in _MONEY and text
            yield (
                f"{name}_{side}",
                render_plain(int(text), currency, language) if is_money else text,
            )
    for name in _TEXTS:
        test: TextTest = getattr(when, _ATTRIBUTES[name]) or TextTest()
        for how, asked in zip(_HOWS, (test.equals, test.starts_with, test.ends_with), strict=True):
            yield f"{name}_{how}", asked or ""
    for name in _LISTS:
        yield name, ", ".join(_list_of(getattr(when, _ATTRIBUTES[name])))


def _list_shares(target: Sequence[ShareDocument]) -> list[tuple[str, str]]:
    return [(share.workflow, str(share.percent)) for share in target]


def _list_of(value: str | list[str] | None) -> list[str]:
    return [] if value is None else list_values(value)


def _write_condition(
    typed: TypedRule, known: RuleDocument | None, currency: str, language: str
) -> dict[str, Any]:
    when: dict[str, Any] = {}
    for name in (*_MONEY, *_NUMBERS):
        sides = {side: typed.texts.get(f"{name}_{side}", "") for side in ("min", "max")}
        given = {side: text for side, text in sides.items() if text}
        if given:
            is_money = name in _MONEY
            when[name] = {
                side: _read_money(text, currency, language) if is_money else _read_number(text)
                for side, text in given.items()
            }
    for name in _LISTS:
        codes = [code for code in _GAPS.split(typed.texts.get(name, "")) if code]
        codes = [code.upper() for code in codes] if name == "country" else codes
        when |= _write_list(name, codes, known)
    for name in _BOXES:
        when |= _write_list(name, typed.boxes.get(name, ()), known)
    for name in _TEXTS:
        tests = {how: typed.texts.get(f"{name}_{how}", "") for how in _HOWS}
        if any(tests.values()):
            when[name] = {how: text for how, text in tests.items() if text}
    own = dict(typed.fields)
    return {**when, "customFields": own} if own else when


def _write_list(
    name: str, values: Sequence[str], known: RuleDocument | None
) -> dict[str, str | list[str]]:
    """One value stands alone where it may, unless it stood in a list."""
    if not values:
        return {}
    before = getattr(known.when, _ATTRIBUTES[name]) if known and known.when else None
    if before is not None and sorted(list_values(before)) == sorted(values):
        return {name: before}
    is_alone = len(values) == 1 and name != "has"
    return {name: values[0] if is_alone else [*values]}


def _write_target(typed: TypedRule, known: RuleDocument | None) -> str | list[dict[str, Any]]:
    shares: list[dict[str, Any]] = [
        {"workflow": workflow, "percent": _read_number(percent)}
        for workflow, percent in typed.shares
    ]
    if len(typed.shares) == 1 and typed.shares[0][1] in ("", "100"):
        workflow = typed.shares[0][0]
        was_list = known is not None and isinstance(known.target, list)
        if not (was_list and typed.shares[0][1]):
            return workflow
    return shares


def _read_money(text: str, currency: str, language: str) -> str:
    """What is no amount is left as it is, and found to be none."""
    cents = read_amount(text, currency, language)
    return text if cents is None else str(cents)


def _read_number(text: str) -> int | str:
    is_number = text.isascii() and text.isdecimal() and len(text) <= 9
    return int(text) if is_number else text
