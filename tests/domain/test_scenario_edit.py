"""Editing a scenario in place: no claim repeats or skips a step."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.rollout.scenarios.scenario_edit import (
    ScenarioEdit,
    StepPosition,
    decide_edit,
    has_same_steps,
)
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.versions import KnownStep

OLD_IDS = (1, 2, 3, 4, 5)


def a_step(step_id: int, kind: str = "WAIT") -> dict[str, Any]:
    given: dict[str, Any] = {"id": step_id, "name": f"Step {step_id}", "kind": kind}
    if kind == "WAIT":
        return {**given, "days": 1}
    return {**given, "offset": 1, "message": "x"}


def a_step_list(*step_ids: int) -> Definition:
    document = {"settings": {"languages": ["en"]}, "steps": [a_step(each) for each in step_ids]}
    return msgspec.convert(document, Definition)


def edit(new: tuple[int, ...], positions: dict[StepPosition, int]) -> ScenarioEdit:
    return decide_edit(a_step_list(*OLD_IDS), a_step_list(*new), {}, positions)


def find_codes(edited: ScenarioEdit) -> list[tuple[str, str]]:
    return [(fault.path, fault.code) for fault in edited.faults]


def test_a_claim_stays_at_a_step_that_is_kept() -> None:
    edited = edit((1, 9, 3, 4, 5), {3: 2, 4: 1})
    assert edited.moves == {}
    assert edited.effects == ['step 9 "Step 9" added: 3 claims are past it and do not run it']
    assert list(edited.removed) == [2]


def test_a_claim_at_a_removed_step_continues_after_the_steps_it_has_run() -> None:
    edited = edit((1, 2, 4, 5), {3: 1})
    assert edited.moves == {3: 4}
    assert edited.effects == ['1 claim at step 3 "Step 3" continues at step 4 "Step 4"']


def test_a_claim_continues_at_the_step_that_replaces_its_own() -> None:
    assert edit((1, 2, 9, 8, 5), {3: 1, 4: 1}).moves == {3: 9, 4: 9}


def test_a_claim_at_the_end_continues_at_an_appended_step() -> None:
    edited = edit((1, 2, 3, 4, 5, 9), {None: 2})
    assert edited.moves == {None: 9}
    assert edited.effects == ['2 claims after the last step continue at step 9 "Step 9"']


def test_a_claim_whose_last_step_is_removed_is_at_the_end() -> None:
    assert edit((1, 2, 3), {5: 1, None: 1}).moves == {5: None}


def test_an_order_that_would_repeat_a_step_is_refused() -> None:
    edited = edit((1, 3, 2, 4, 5), {3: 1})
    assert find_codes(edited) == [("/steps/2", "WOULD_REPEAT")]
    assert edited.faults[0].message.startswith(
        'Step 2 "Step 2" would run again for 1 claim at step 3 "Step 3".'
    )


def test_an_order_that_would_skip_a_step_is_refused() -> None:
    assert find_codes(edit((1, 3, 2, 4, 5), {2: 7})) == [("/steps/1", "WOULD_SKIP")]


def test_any_order_is_allowed_when_no_claim_is_between_the_steps() -> None:
    edited = edit((1, 3, 2, 4, 5), {1: 1, 4: 1, None: 1})
    assert (edited.faults, edited.moves) == ((), {})


def test_a_step_id_keeps_its_kind_and_a_removed_one_cannot_be_reused() -> None:
    new = a_step_list(1, 2, 7)
    steps = [a_step(1), a_step(2, "CHECKPOINT"), a_step(7)]
    changed = msgspec.convert({**msgspec.to_builtins(new), "steps": steps}, Definition)
    retired = {7: KnownStep("WAIT", "Old wait", "removed")}
    edited = decide_edit(a_step_list(1, 2), changed, retired, {})
    assert find_codes(edited) == [("/steps/1/id", "ID_REUSED"), ("/steps/2/id", "ID_REUSED")]
    assert edited.faults[1].message == (
        'The id 7 belonged to "Old wait", which was removed; claims may have run it. '
        "Give this step a new id, such as 8."
    )


def test_steps_are_the_same_only_in_the_same_order() -> None:
    assert has_same_steps(a_step_list(1, 2), a_step_list(1, 2))
    assert not has_same_steps(a_step_list(1, 2), a_step_list(2, 1))
    assert not has_same_steps(a_step_list(1, 2), a_step_list(1, 2, 3))


@given(
    new=st.lists(st.sampled_from((*OLD_IDS, 8, 9)), min_size=1, unique=True),
    places=st.sets(st.sampled_from((*OLD_IDS, None)), min_size=1),
)
def test_after_an_accepted_edit_each_claim_has_exactly_its_remaining_steps(
    new: list[int], places: set[StepPosition]
) -> None:
    edited = edit(tuple(new), dict.fromkeys(places, 1))
    if edited.faults:
        assert edited.moves == {}
        assert any(not find_good_starts(new, place) for place in places)
        return
    for place in places:
        after = edited.moves.get(place, place)
        start = len(new) if after is None else new.index(after)
        assert start in find_good_starts(new, place)


def find_good_starts(new: list[int], place: StepPosition) -> list[int]:
    """Return where a claim may continue: it runs the remaining old steps that it has not run. If
    its step is kept, it must stay there."""
    done = OLD_IDS if place is None else OLD_IDS[: OLD_IDS.index(place)]
    left = {each for each in OLD_IDS if each in new and each not in done}
    starts = [new.index(place)] if place in new else list(range(len(new) + 1))
    return [at for at in starts if {each for each in new[at:] if each in OLD_IDS} == left]
