"""What a claim's state means for its page."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.claims.holds import HoldKind
from dunwell.claims.states import Status
from dunwell.landing.facts import ClaimFacts, HoldFacts, ItemFacts, PaymentFacts, RequestFacts
from dunwell.landing.view import (
    Outcome,
    PageState,
    decide_outcome,
    decide_state,
    find_held_until,
    is_payable,
    render_initials,
)
from dunwell.payments.request_states import RequestState

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=3)
_ID = UUID("01900000-0000-7000-8000-000000000001")


def some_facts(**changes: Any) -> ClaimFacts:
    usual: dict[str, Any] = {
        "claim_id": 17, "reference_number": "R-1", "currency": "EUR",
        "status": Status.IN_PROCESS, "first_name": "Erika", "last_name": "Mustermann",
        "company_name": None, "language": None, "payments": [], "holds": [], "request": None,
        "items": [ItemFacts("PRIMARY", 10000, "R-1", None, NOW.date(), 0)],
    }  # fmt: skip
    return ClaimFacts(**usual | changes)


def a_request(state: RequestState) -> RequestFacts:
    return RequestFacts(_ID, "sandbox", 10000, state)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("kind", [None, *HoldKind])
@pytest.mark.parametrize("request_state", [None, *RequestState])
def test_every_state_has_its_page(
    status: Status, kind: HoldKind | None, request_state: RequestState | None
) -> None:
    holds = [] if kind is None else [HoldFacts(kind, LATER)]
    request = None if request_state is None else a_request(request_state)

    state = decide_state(some_facts(status=status, holds=holds, request=request), NOW)

    if status in (Status.ARCHIVED, Status.WITHDRAWN):
        assert state is PageState.CLOSED
    elif status is Status.COLLECTED:
        assert state is PageState.PAID
    elif kind is HoldKind.PAYMENT_PENDING or request_state is RequestState.PENDING:
        assert state is PageState.PENDING
    else:
        assert state is (PageState.HELD if kind else PageState.OPEN)
    assert is_payable(state) is (state in (PageState.OPEN, PageState.HELD))


def test_a_hold_whose_end_has_come_holds_no_more() -> None:
    facts = some_facts(holds=[HoldFacts(HoldKind.PAUSE, NOW)])
    assert decide_state(facts, NOW) is PageState.OPEN


def test_a_claim_is_held_until_its_last_hold_falls() -> None:
    ends = [HoldFacts(HoldKind.PAUSE, LATER), HoldFacts(HoldKind.PAUSE, LATER + timedelta(days=1))]
    assert find_held_until(some_facts(holds=ends), NOW) == LATER + timedelta(days=1)
    endless = [*ends, HoldFacts(HoldKind.DISPUTE, None)]
    assert find_held_until(some_facts(holds=endless), NOW) is None


def test_what_is_owed_is_what_was_not_allocated() -> None:
    items = [
        ItemFacts("PRIMARY", 10000, None, None, None, 4000),
        ItemFacts("DUNNING_FEE", 250, None, None, None, 250),
    ]
    facts = some_facts(items=items, payments=[PaymentFacts(4250, NOW, None)])
    assert (facts.total_cents, facts.outstanding_cents, facts.paid_cents) == (10250, 6000, 4250)


@pytest.mark.parametrize(
    ("names", "initials"),
    [
        (("Erika", "Mustermann", None), "E.\u00a0M."),
        ((None, "von Ätzendorf", None), "V."),
        ((None, None, "Hansen Tee & Kaffee Handel GmbH"), "H.\u00a0T."),
        (("<b>", "Łoś", None), "Ł."),
        ((" ", None, None), ""),
        (("李", "小龍", "Firma"), "李.\u00a0小."),
    ],
)
def test_initials_tell_no_name(
    names: tuple[str | None, str | None, str | None], initials: str
) -> None:
    first, last, company = names
    facts = some_facts(first_name=first, last_name=last, company_name=company)
    assert render_initials(facts) == initials


def test_only_a_completed_request_was_received() -> None:
    outcomes = {state: decide_outcome(state) for state in RequestState}
    received = {state for state, outcome in outcomes.items() if outcome is Outcome.RECEIVED}
    assert received == {RequestState.COMPLETED}
    assert outcomes[RequestState.PENDING] is Outcome.PENDING
    assert outcomes[RequestState.OPEN] is outcomes[RequestState.CREATED] is Outcome.LEFT
    assert outcomes[RequestState.FAILED] is outcomes[RequestState.EXPIRED] is Outcome.ENDED
