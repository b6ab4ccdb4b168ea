"""Every pair of state and event, allowed or not."""

from itertools import product

import pytest

from dunwell.core.claims.states import ACTIVE, TRANSITIONS, ClaimTransition, Status, decide_status
from dunwell.platform.errors import InvalidState

FINAL = {Status.ARCHIVED, Status.WITHDRAWN}


@pytest.mark.parametrize(("status", "happening"), list(product(Status, ClaimTransition)))
def test_every_pair_of_state_and_event_is_decided(
    status: Status, happening: ClaimTransition
) -> None:
    if (status, happening) in TRANSITIONS:
        assert decide_status(status, happening) is TRANSITIONS[status, happening]
    else:
        with pytest.raises(InvalidState) as refusal:
            decide_status(status, happening)
        assert refusal.value.details == {"state": str(status)}


@pytest.mark.parametrize("happening", list(ClaimTransition))
def test_a_final_state_has_no_transition(happening: ClaimTransition) -> None:
    for status in FINAL:
        assert TRANSITIONS.get((status, happening), status) is status


def test_only_active_claims_run_steps() -> None:
    stepping = {
        status for status, happening in TRANSITIONS if happening is ClaimTransition.STEP_RAN
    }
    assert stepping == ACTIVE


def test_a_collected_claim_runs_no_step_and_is_not_archived() -> None:
    for happening in (
        ClaimTransition.STEP_RAN,
        ClaimTransition.STEPS_ENDED,
        ClaimTransition.ARCHIVED_BY_HAND,
    ):
        assert (Status.COLLECTED, happening) not in TRANSITIONS
