"""What a merchant file says of paying in part: its rule, and to and from what is stored. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from dunwell.accounts.merchants.configuration import PartialPayments
from dunwell.operations.onboarding.file import PartialPart
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import read_if_fits


def find_partial_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """A part of another shape is left out: the schema has reported it."""
    payment = document.get("payment")
    given = payment.get("partial") if isinstance(payment, dict) else None
    part = read_if_fits(given, PartialPart)
    if part is not None and part.min is None and not part.items:
        message = 'Say what may be paid in part: "min", "items", or both.'
        yield Fault("/payment/partial/min", message, "REQUIRED")


def read_partial(part: PartialPart | None) -> PartialPayments | None:
    if part is None:
        return None
    return PartialPayments(None if part.min is None else int(part.min), part.items)


def render_partial(partial: PartialPayments | None) -> dict[str, Any] | None:
    """Under the file's keys."""
    if partial is None:
        return None
    least = partial.min_cents
    return {"min": None if least is None else str(least), "items": partial.items}
