"""What somebody has typed into a form that could not be taken, to show it to them once more.

Only fields that are named here are shown. What proves who somebody is, such as a code, a date of
birth or a postal code, is never among them, nor are a form's hidden values. Pure.
"""

from collections.abc import Mapping

# Texts, amounts and addresses of the claim's forms, in the order in which they are shown.
_SHOWN = ("message", "person", "court", "number", "amount", "rate", "address")
# Days that are typed in three fields: when something happened or was sent, and a first payment.
_DAYS = ("day", "on", "first")
# Twice what the longest text may have, so that one that was refused for its length is seen too.
_LONGEST = 4_000


def list_typed_texts(form: Mapping[str, str]) -> list[str]:
    """In the reader's own words, without what is empty."""
    texts = (form.get(name, "") for name in _SHOWN)
    days = (_join_day(form, name) for name in _DAYS)
    return [text.strip()[:_LONGEST] for text in (*texts, *days) if text.strip()]


def _join_day(form: Mapping[str, str], name: str) -> str:
    parts = (form.get(f"{name}_{part}", "") for part in ("day", "month", "year"))
    return " ".join(part.strip() for part in parts)
