"""The sentence that says why the next step of a claim is due at its time."""

from datetime import UTC, datetime

import pytest

from dunwell.operations.claim_status.reasons import explain_due_time
from dunwell.operations.claim_status.views import ClaimState, PastStep
from tests.support.definitions import a_definition

_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
_STATE = ClaimState(1, "IN_PROCESS", False, 1, 3, _AT, None, None, 1, "Standard", None)


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        ((), "It is the first step of the workflow."),
        (
            (PastStep(999, "DONE", None, _AT, "v1.0"),),
            "It follows a step that was removed from the workflow.",
        ),
        (
            (PastStep(1, "SKIPPED", "GUARD_UNMET", _AT, "v1.0"),),
            'It follows "First reminder", which is over.',
        ),
    ],
)
def test_a_due_time_is_explained_by_the_step_before_it_if_there_is_one(
    history: tuple[PastStep, ...], reason: str
) -> None:
    definition = a_definition()
    step = next(each for each in definition.steps if each.id == 3)
    assert str(explain_due_time(_STATE, definition, step, history)) == reason
