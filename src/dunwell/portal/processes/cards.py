"""The steps of a draft as cards: on which day of the process each comes, where it can be moved, and
what is wrong with it."""

from collections.abc import Iterator, Sequence

from dunwell.errors import Fault
from dunwell.portal.processes.views_editor import StepCard
from dunwell.rollout.look_at_draft import LookedAtDraft
from dunwell.workflows.definition import Step, WaitStep
from dunwell.workflows.parts import fingerprint, name_step


def list_cards(look: LookedAtDraft) -> list[StepCard]:
    steps = look.definition.steps
    changed = {each.step_id for each in look.differences}
    return [
        StepCard(
            step=look.parts[name_step(step.id)],
            day=day,
            is_about=is_about,
            is_changed=step.id in changed,
            faults=[each for each in look.faults if _is_of(each, place)],
            seen=fingerprint(look.parts[name_step(step.id)]),
            is_first=place == 0,
            is_last=place == len(steps) - 1,
        )
        for place, (step, (day, is_about)) in enumerate(zip(steps, count_days(steps), strict=True))
    ]


def find_other_faults(look: LookedAtDraft) -> list[Fault]:
    """Those that are of no step."""
    return [each for each in look.faults if not each.path.startswith("/steps/")]


def count_days(steps: Sequence[Step]) -> Iterator[tuple[int, bool]]:
    """Of each step the day of the process on which it comes at the earliest, from 0; and whether
    business days before it make that a guess: five of them are taken for a week."""
    day, is_about = 0, False
    for step in steps:
        yield day, is_about
        if isinstance(step, WaitStep):
            business = step.business_days or 0
            day += (step.days or 0) + -(-business * 7 // 5)
            is_about = is_about or bool(business)


def _is_of(fault: Fault, place: int) -> bool:
    root = f"/steps/{place}"
    return fault.path == root or fault.path.startswith(f"{root}/")
