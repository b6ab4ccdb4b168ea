"""What a merchant file says of disputes: its rules, and to and from what is stored. Pure."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from dunwell.accounts.merchants.configuration import DisputeReason, Disputes
from dunwell.cases.disputes.reasons import ALWAYS_OFFERED, KNOWN_NAMES
from dunwell.core.workflows.definition_rules import find_repeats, language_fault
from dunwell.operations.onboarding.file import DisputeReasonPart, DisputesPart
from dunwell.platform.errors import Fault
from dunwell.platform.text.codes import is_language
from dunwell.platform.text.shape import read_if_fits

_PATH = "/disputes/reasons"
# So alike is a name of the contract's mistyped, and no other reason.
_TYPO = 0.9


def find_dispute_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Parts of another shape are left out: the schema has reported them."""
    disputes = read_if_fits(document.get("disputes"), DisputesPart)
    reasons = disputes.reasons if disputes is not None else []
    for index, reason in enumerate(reasons):
        yield from _find_reason_faults(reason, f"{_PATH}/{index}")
    for fault in find_repeats([reason.type for reason in reasons], _PATH):
        yield Fault(f"{fault.path}/type", fault.message, fault.code)


def _find_reason_faults(reason: DisputeReasonPart, path: str) -> Iterator[Fault]:
    if reason.hidden and reason.type in ALWAYS_OFFERED:
        message = f"{reason.type} is always offered: nobody may be left without a way to object."
        yield Fault(f"{path}/hidden", message, "NOT_ALLOWED")
    if reason.type not in KNOWN_NAMES:
        yield from _find_own_faults(reason, path)
    for code in reason.label:
        if not is_language(code):
            yield language_fault(code, f"{path}/label/{code}")


def _find_own_faults(reason: DisputeReasonPart, path: str) -> Iterator[Fault]:
    near = difflib.get_close_matches(reason.type, KNOWN_NAMES, n=1, cutoff=_TYPO)
    if near:
        message = f'Did you mean "{near[0]}"? Else choose a name that is less like it.'
        yield Fault(f"{path}/type", message, "NOT_ALLOWED")
    elif not reason.label:
        message = f'"{reason.type}" is a reason of your own; give it a "label" in a language.'
        yield Fault(f"{path}/label", message, "REQUIRED")


def read_disputes(part: DisputesPart) -> Disputes:
    return Disputes(
        tuple(DisputeReason(each.type, dict(each.label), each.hidden) for each in part.reasons),
        part.answer_within_days,
        part.quiet_days_after_answer,
    )


def render_disputes(disputes: Disputes) -> dict[str, Any]:
    """Under the file's keys."""
    return {
        "reasons": [
            {"type": each.type, "label": each.labels, "hidden": each.is_hidden}
            for each in disputes.reasons
        ],
        "answerWithinDays": disputes.answer_within_days,
        "quietDaysAfterAnswer": disputes.quiet_days_after_answer,
    }
