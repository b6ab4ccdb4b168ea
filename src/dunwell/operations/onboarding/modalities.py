"""What a merchant file says of modalities: its rules, and to and from what is stored. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from dunwell.accounts.merchants.configuration import Deferments, Modalities, Plans
from dunwell.core.workflows.definition_rules import find_repeats
from dunwell.operations.onboarding.file import DefermentsPart, ModalitiesPart, PlansPart
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import read_if_fits

_PLAN = "/modalities/plan"


def find_modality_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Parts of another shape are left out: the schema has reported them."""
    modalities = read_if_fits(document.get("modalities"), ModalitiesPart)
    plan = modalities.plan if modalities is not None else None
    if plan is None:
        return
    if not plan.counts and plan.min_rate is None:
        message = 'Say how plans may look: "counts", "minRate", or both.'
        yield Fault(f"{_PLAN}/counts", message, "REQUIRED")
    yield from find_repeats(plan.counts or [], f"{_PLAN}/counts")


def read_modalities(part: ModalitiesPart) -> Modalities:
    return Modalities(
        plan=None if part.plan is None else _read_plan(part.plan),
        deferment=None if part.deferment is None else _read_deferment(part.deferment),
        pause_days=part.pause_days,
        answer_within_days=part.answer_within_days,
    )


def _read_plan(part: PlansPart) -> Plans:
    return Plans(
        counts=tuple(sorted(part.counts or ())),
        min_rate_cents=None if part.min_rate is None else int(part.min_rate),
        first_date_within_days=part.first_date_within_days,
        auto_approve=part.auto_approve,
    )


def _read_deferment(part: DefermentsPart) -> Deferments:
    return Deferments(part.max_days, part.auto_approve)


def render_modalities(modalities: Modalities) -> dict[str, Any]:
    """Under the file's keys."""
    plan, deferment = modalities.plan, modalities.deferment
    return {
        "plan": None if plan is None else _render_plan(plan),
        "deferment": None
        if deferment is None
        else {"maxDays": deferment.max_days, "autoApprove": deferment.auto_approve},
        "pauseDays": modalities.pause_days,
        "answerWithinDays": modalities.answer_within_days,
    }


def _render_plan(plan: Plans) -> dict[str, Any]:
    least = plan.min_rate_cents
    return {
        "counts": list(plan.counts),
        "minRate": None if least is None else str(least),
        "firstDateWithinDays": plan.first_date_within_days,
        "autoApprove": plan.auto_approve,
    }
