"""Texts that are stored as a code with facts, so that they can be shown in every language. A text
that was stored as a sentence is shown unchanged. Pure."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Self

from dunwell.cases.statements.formats.plain_amounts import render_plain_amount
from dunwell.platform.text.translation import AmountText, DayText, LazyText

# Codes with their texts.
Texts = Mapping[str, LazyText]
Fact = str | int


class CodedText(LazyText):
    """A text with its code. Its facts are texts, numbers, amounts, days, and other coded texts."""

    __slots__ = ("code",)
    code: str

    @classmethod
    def build(cls, texts: Texts, code: str, /, **facts: Fact) -> Self:
        """Return the text of a code with its facts. Raises KeyError if there is no such text, or a
        fact is missing."""
        built = cls(texts[code].text, **facts)
        built.code = code
        return built


def build_amount(cents: int, currency: str | None) -> AmountText:
    """Return an amount as a fact: "-1234.50 EUR" in English, formatted on pages."""
    return AmountText(render_plain_amount(cents, currency), cents, currency or "")


def build_day(day: date) -> DayText:
    return DayText(str(day), day)


def dump_text(text: str) -> Any:
    """Return a text as JSON. A text without a code is stored unchanged."""
    if isinstance(text, CodedText):
        return {"code": text.code, "facts": {key: _dump(fact) for key, fact in text.facts.items()}}
    return str(text)


def _dump(fact: Any) -> Any:
    if isinstance(fact, CodedText):
        return dump_text(fact)
    if isinstance(fact, AmountText):
        return {"cents": fact.cents, "currency": fact.currency}
    if isinstance(fact, DayText):
        return {"day": str(fact)}
    return fact if isinstance(fact, int) else str(fact)


def load_text(texts: Texts, stored: Any) -> str:
    """Return the text that `dump_text` stored, or only its code if this version does not know the
    code or its facts."""
    if not isinstance(stored, dict):
        return str(stored)
    try:
        facts = {key: _load(texts, fact) for key, fact in stored["facts"].items()}
        return CodedText.build(texts, stored["code"], **facts)
    except KeyError:
        return str(stored.get("code"))


def _load(texts: Texts, fact: Any) -> Any:
    if not isinstance(fact, dict):
        return fact
    if "cents" in fact:
        return build_amount(fact["cents"], fact["currency"])
    return build_day(date.fromisoformat(fact["day"])) if "day" in fact else load_text(texts, fact)
