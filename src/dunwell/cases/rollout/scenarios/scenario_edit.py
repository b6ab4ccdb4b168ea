"""What editing a scenario in place means for claims that run on it.

A claim has a position: the steps before it are done, and the steps from it on are not. An edit
keeps this true for every claim, or is refused:

    the step at the position   the claim
    is still there             stays; it does not run a new step before its position
    was removed                continues after the last step that it has done: at the step that
                               replaced the removed one, or else at the next remaining step
    (after the last step)      continues at the steps that were appended, if there are any

An order in which a claim would repeat or miss a step is refused. A claim that has not started is
not affected: it starts at the step that is then first. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dunwell.cases.rollout.uses import render_claim_count
from dunwell.core.workflows.definition import Definition, Step
from dunwell.core.workflows.versions.versions import KnownStep, find_reused_id_faults, get_kind
from dunwell.platform.errors import Fault

# A claim's position: the id of its next step, or None after the last step.
StepPosition = int | None


@dataclass(frozen=True, slots=True)
class ScenarioEdit:
    # Old position -> new position, for those positions whose claims move.
    moves: Mapping[StepPosition, StepPosition] = field(default_factory=dict)
    # The removed steps.
    removed: Mapping[int, KnownStep] = field(default_factory=dict)
    # What the edit means for running claims, as text for its author.
    effects: Sequence[str] = ()
    faults: Sequence[Fault] = ()


@dataclass(frozen=True, slots=True)
class _StepChange:
    """The old and the new order, as step id -> index."""

    old: Mapping[int, int]
    new: Mapping[int, int]
    names: Mapping[StepPosition, str]

    def list_kept_before(self, position: StepPosition) -> list[int]:
        """Return the remaining steps that a claim at this old position has done."""
        limit = len(self.old) if position is None else self.old[position]
        return [each for each, index in self.old.items() if index < limit and each in self.new]

    def compute_new_index(self, position: StepPosition) -> int:
        """Return the index in the new order at which a claim at this old position continues."""
        if position is not None and position in self.new:
            return self.new[position]
        return 1 + max((self.new[each] for each in self.list_kept_before(position)), default=-1)


def decide_edit(
    old: Definition, new: Definition, retired: Mapping[int, KnownStep],
    claims_by_step: Mapping[StepPosition, int],
) -> ScenarioEdit:  # fmt: skip
    """Decide what the edit means for claims. `retired` has steps that were removed earlier.
    `claims_by_step` counts the started, unfinished claims by position."""
    change = _StepChange(_index_steps(old.steps), _index_steps(new.steps), _name_all(old, new))
    removed = {
        step.id: KnownStep(get_kind(step), step.name, "removed")
        for step in old.steps
        if step.id not in change.new
    }
    faults = [*list_id_faults(old, new, retired), *_list_order_faults(change, claims_by_step)]
    if faults:
        return ScenarioEdit(removed=removed, faults=list(dict.fromkeys(faults)))
    ids: list[StepPosition] = [*change.new, None]
    positions = {position: ids[change.compute_new_index(position)] for position in claims_by_step}
    moves = {position: after for position, after in positions.items() if position != after}
    effects = [
        *_describe_moves(change, moves, claims_by_step),
        *_describe_passed(change, claims_by_step),
    ]
    return ScenarioEdit(moves, removed, effects)


def list_id_faults(
    old: Definition, new: Definition, retired: Mapping[int, KnownStep]
) -> list[Fault]:
    """Return faults for ids that belonged to another kind of step or to a removed step."""
    present = {
        step.id: KnownStep(get_kind(step), step.name, "the scenario so far") for step in old.steps
    }
    known = {**present, **retired}
    faults = find_reused_id_faults(known, new)
    free_id = max([*known, *(step.id for step in new.steps)]) + 1
    for index, step in enumerate(new.steps):
        before = retired.get(step.id)
        if before is not None and before.kind == get_kind(step):
            message = (
                f'The id {step.id} belonged to "{before.name}", which was removed; claims may have '
                f"run it. Give this step a new id, such as {free_id}."
            )
            faults.append(Fault(f"/steps/{index}/id", message, "ID_REUSED"))
    return faults


def has_same_steps(old: Definition, new: Definition) -> bool:
    """Return whether both have the same steps in the same order, so that no claim moves."""
    return [step.id for step in old.steps] == [step.id for step in new.steps]


def _index_steps(steps: Sequence[Step]) -> dict[int, int]:
    return {step.id: index for index, step in enumerate(steps)}


def _name_all(old: Definition, new: Definition) -> dict[StepPosition, str]:
    names: dict[StepPosition, str] = {None: "the end"}
    for step in (*old.steps, *new.steps):
        names[step.id] = f'step {step.id} "{step.name}"'
    return names


def _list_order_faults(
    change: _StepChange, claims_by_step: Mapping[StepPosition, int]
) -> Iterator[Fault]:
    for position, claims in claims_by_step.items():
        index, done = change.compute_new_index(position), change.list_kept_before(position)
        for step_id, index_of_step in change.new.items():
            if step_id not in change.old or step_id == position:
                continue
            if step_id in done and index_of_step >= index:
                yield _build_order_fault(change, (step_id, position), claims, "would run again")
            elif step_id not in done and index_of_step < index:
                yield _build_order_fault(change, (step_id, position), claims, "would never run")


def _build_order_fault(
    change: _StepChange, pair: tuple[int, StepPosition], claims: int, consequence: str
) -> Fault:
    step_id, position = pair
    message = (
        f"{_capitalize(change.names[step_id])} {consequence} for {render_claim_count(claims)} at "
        f"{change.names[position]}. Keep the order, give the step a new id to run it as another "
        "step, or save the new order as another scenario."
    )
    code = "WOULD_REPEAT" if consequence == "would run again" else "WOULD_SKIP"
    return Fault(f"/steps/{change.new[step_id]}", message, code)


def _describe_moves(
    change: _StepChange,
    moves: Mapping[StepPosition, StepPosition],
    claims_by_step: Mapping[StepPosition, int],
) -> Iterator[str]:
    for position, after in moves.items():
        claims = claims_by_step[position]
        verb = "continues" if claims == 1 else "continue"
        origin = "after the last step" if position is None else f"at {change.names[position]}"
        yield f"{render_claim_count(claims)} {origin} {verb} at {change.names[after]}"


def _describe_passed(
    change: _StepChange, claims_by_step: Mapping[StepPosition, int]
) -> Iterator[str]:
    """Yield a line for each new step that claims have already passed."""
    for step_id, index_of_step in change.new.items():
        if step_id in change.old:
            continue
        claims_past = sum(
            claims
            for position, claims in claims_by_step.items()
            if change.compute_new_index(position) > index_of_step
        )
        if claims_past:
            verb = "is past it and does not" if claims_past == 1 else "are past it and do not"
            yield f"{change.names[step_id]} added: {render_claim_count(claims_past)} {verb} run it"


def _capitalize(text: str) -> str:
    return text[0].upper() + text[1:]
