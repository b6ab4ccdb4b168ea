"""The reasons to dispute as fields of a form: a row for each of the contract's, one for each of the
merchant's own, and empty ones to add some. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dunwell.accounts.merchants.configuration import PAGE_LANGUAGES
from dunwell.cases.disputes.reasons import ALWAYS_OFFERED, RESERVED_NAMES
from dunwell.interfaces.web.forms import Typed

_EMPTY_ROWS = 2
_MOST_OWN = 37
_PLACE = "disputes.reasons"


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """`name`: of its fields, before ".hidden", ".label.de" and, of one's own, ".type"."""

    name: str
    type: str
    is_own: bool
    can_hide: bool


def list_languages(document: Mapping[str, Any]) -> list[str]:
    """Those of the pages, and any other that a reason has words in."""
    more = [code for each in _list_reasons(document) for code in each.get("label", {})]
    return list(dict.fromkeys([*PAGE_LANGUAGES, *more]))


def list_rows(typed: Typed) -> list[ReasonRow]:
    """As the form has them: what was typed into it says how many there are of one's own."""
    rows = [
        ReasonRow(f"{_PLACE}.{kind}", str(kind), is_own=False, can_hide=kind not in ALWAYS_OFFERED)
        for kind in RESERVED_NAMES
    ]
    for number in range(_MOST_OWN):
        name = f"{_PLACE}.own{number}"
        if f"{name}.type" in typed:
            rows.append(ReasonRow(name, str(typed[f"{name}.type"]), is_own=True, can_hide=True))
    return rows


def show_reasons(document: Mapping[str, Any]) -> Typed:
    given, shown = _list_reasons(document), dict[str, str]()
    by_type = {each["type"]: each for each in given}
    own = [each for each in given if each["type"] not in RESERVED_NAMES]
    languages = list_languages(document)
    for kind in RESERVED_NAMES:
        shown |= _show(f"{_PLACE}.{kind}", by_type.get(kind, {}), languages)
    for number, each in enumerate([*own, *({} for _ in range(_EMPTY_ROWS))][:_MOST_OWN]):
        name = f"{_PLACE}.own{number}"
        shown |= {f"{name}.type": each.get("type", ""), **_show(name, each, languages)}
    return shown


def read_reasons(typed: Typed, document: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The reasons as the file has them, each with the name of its row: those that were there in
    their order, then others."""
    languages = list_languages(document)
    read = [(row.name, _read(row, typed, languages)) for row in list_rows(typed)]
    said = [
        (name, each) for name, each in read if len(each) > 1 or (_is_own(name) and each["type"])
    ]
    before = [each["type"] for each in _list_reasons(document)]
    return sorted(said, key=lambda pair: _rank(before, pair[1]["type"]))


def _is_own(name: str) -> bool:
    return name.startswith(f"{_PLACE}.own")


def _rank(before: Sequence[str], kind: str) -> int:
    return before.index(kind) if kind in before else len(before)


def _show(name: str, each: Mapping[str, Any], languages: Sequence[str]) -> dict[str, str]:
    labels = each.get("label", {})
    return {
        f"{name}.hidden": "yes" if each.get("hidden") else "",
        **{f"{name}.label.{code}": labels.get(code, "") for code in languages},
    }


def _read(row: ReasonRow, typed: Typed, languages: Sequence[str]) -> dict[str, Any]:
    labels = {code: str(typed.get(f"{row.name}.label.{code}", "")).strip() for code in languages}
    labels = {code: text for code, text in labels.items() if text}
    read: dict[str, Any] = {"type": row.type.strip()}
    if labels:
        read["label"] = labels
    if typed.get(f"{row.name}.hidden"):
        read["hidden"] = True
    return read


def _list_reasons(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    reasons: list[dict[str, Any]] = document.get("disputes", {}).get("reasons", [])
    return reasons
