"""The page that follows from a claim's state."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.modalities.instalments import Instalment, apply_payments, build_schedule
from dunwell.cases.modalities.modality import HOLD_KINDS, Modality, ModalityState, ModalityType
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.core.claims.states import HoldKind, Status
from dunwell.interfaces.landing.session.facts import (
    HoldFacts,
    PageClaim,
    PageItem,
    PaymentFacts,
    RequestFacts,
)
from dunwell.interfaces.landing.session.states import (
    PageState,
    PaymentOutcome,
    Topic,
    decide_outcome,
    decide_state,
    find_hold,
    find_next_instalment,
    is_payable,
    list_topics,
    render_initials,
)

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=3)
_ID = UUID("01900000-0000-7000-8000-000000000001")
MEANING = {
    (ModalityType.PAYMENT_PLAN, ModalityState.REQUESTED): Topic.PLAN_REQUESTED,
    (ModalityType.PAYMENT_PLAN, ModalityState.APPROVED): Topic.PLAN_ACTIVE,
    (ModalityType.PAYMENT_DEFEREMENT, ModalityState.REQUESTED): Topic.DEFERMENT_REQUESTED,
    (ModalityType.PAYMENT_DEFEREMENT, ModalityState.APPROVED): Topic.DEFERRED,
}


def some_facts(**changes: Any) -> PageClaim:
    usual: dict[str, Any] = {
        "claim_id": 17, "reference_number": "R-1", "currency": "EUR",
        "status": Status.IN_PROCESS, "first_name": "Erika", "last_name": "Mustermann",
        "company_name": None, "language": None, "payments": [], "holds": [], "request": None,
        "items": [PageItem("PRIMARY", 10000, "R-1", None, NOW.date(), 0, 1, None)],
    }  # fmt: skip
    return PageClaim(**usual | changes)


def a_hold(kind: HoldKind, until: datetime | None = LATER) -> HoldFacts:
    return HoldFacts(kind, until, NOW)


def a_modality(
    modality_type: ModalityType = ModalityType.PAYMENT_PLAN,
    state: ModalityState = ModalityState.APPROVED,
    schedule: tuple[Instalment, ...] = build_schedule(10000, 3, NOW.date()),
) -> Modality:
    return Modality(_ID, 17, modality_type, state, "EUR", 10000, schedule, 0, NOW, ActorKind.DEBTOR)


def list_subsets(kinds: Iterable[HoldKind]) -> list[tuple[HoldKind, ...]]:
    every = list(kinds)
    return [chosen for size in range(len(every) + 1) for chosen in combinations(every, size)]


def a_request(state: PaymentRequestState) -> RequestFacts:
    return RequestFacts(_ID, "sandbox", 10000, state)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("kind", [None, *HoldKind])
@pytest.mark.parametrize("request_state", [None, *PaymentRequestState])
def test_every_state_has_its_page(
    status: Status, kind: HoldKind | None, request_state: PaymentRequestState | None
) -> None:
    holds = [] if kind is None else [a_hold(kind)]
    request = None if request_state is None else a_request(request_state)

    state = decide_state(some_facts(status=status, holds=holds, request=request), NOW)

    if status in (Status.ARCHIVED, Status.WITHDRAWN):
        assert state is PageState.CLOSED
    elif status is Status.COLLECTED:
        assert state is PageState.PAID
    elif kind is HoldKind.PAYMENT_PENDING or request_state is PaymentRequestState.PENDING:
        assert state is PageState.PENDING
    else:
        assert state is (PageState.HELD if kind else PageState.OPEN)
    assert is_payable(state) is (state in (PageState.OPEN, PageState.HELD))


def test_a_hold_is_not_active_after_its_end() -> None:
    facts = some_facts(holds=[a_hold(HoldKind.PAUSE, NOW)])
    assert decide_state(facts, NOW) is PageState.OPEN


def test_the_hold_that_ends_last_is_shown() -> None:
    pauses = [a_hold(HoldKind.PAUSE, LATER + timedelta(days=1)), a_hold(HoldKind.PAUSE, LATER)]
    assert find_hold(some_facts(holds=pauses), HoldKind.PAUSE, NOW) == pauses[0]
    endless = a_hold(HoldKind.PAUSE, None)
    assert find_hold(some_facts(holds=[*pauses, endless]), HoldKind.PAUSE, NOW) == endless
    assert find_hold(some_facts(holds=pauses), HoldKind.DISPUTE, NOW) is None


def list_of(kinds: Collection[HoldKind], modality: Modality | None = None) -> list[Topic]:
    facts = some_facts(holds=[a_hold(kind) for kind in kinds])
    return list_topics(facts, decide_state(facts, NOW), modality, NOW)


@pytest.mark.parametrize("kinds", list_subsets(HoldKind))
@pytest.mark.parametrize("modality_type", [None, *ModalityType])
def test_each_topic_is_shown_once_in_order(
    kinds: Collection[HoldKind], modality_type: ModalityType | None
) -> None:
    modality = None
    if modality_type is not None:
        is_active = HoldKind.MODALITY_ACTIVE in kinds
        state = ModalityState.APPROVED if is_active else ModalityState.REQUESTED
        modality = a_modality(modality_type, state)

    topics = list_of(kinds, modality)

    shown_topics = {
        Topic.PAYMENT_PENDING: HoldKind.PAYMENT_PENDING in kinds,
        Topic.PLAN_REQUESTED: False, Topic.DEFERMENT_REQUESTED: False,
        Topic.PLAN_ACTIVE: False, Topic.DEFERRED: False,
        # A broken plan is no longer active.
        Topic.PLAN_ENDED: modality is None and HoldKind.MODALITY_ACTIVE in kinds,
        Topic.DISPUTED: HoldKind.DISPUTE in kinds,
        Topic.PAUSED: HoldKind.PAUSE in kinds,
    }  # fmt: skip
    if modality is not None and {*kinds} & {*HOLD_KINDS}:
        shown_topics[MEANING[modality.type, modality.state]] = True
    if kinds and not any(shown_topics.values()):
        shown_topics[Topic.PAUSED] = True
    assert topics == [topic for topic, is_said in shown_topics.items() if is_said]


@pytest.mark.parametrize("status", [Status.COLLECTED, Status.ARCHIVED, Status.WITHDRAWN])
def test_an_ended_claim_has_no_topics(status: Status) -> None:
    facts = some_facts(status=status, holds=[a_hold(kind) for kind in HoldKind])
    assert list_topics(facts, decide_state(facts, NOW), a_modality(), NOW) == []


def test_a_plan_asks_for_its_first_unpaid_instalment() -> None:
    instalments = apply_payments(build_schedule(10000, 3, NOW.date()), 4000)
    assert find_next_instalment(a_modality(schedule=instalments)) == instalments[1]
    assert find_next_instalment(a_modality(schedule=apply_payments(instalments, 10000))) is None
    assert find_next_instalment(a_modality(state=ModalityState.REQUESTED)) is None
    assert find_next_instalment(a_modality(ModalityType.PAYMENT_DEFEREMENT)) is None
    assert find_next_instalment(None) is None


def test_the_outstanding_amount_is_what_was_not_allocated() -> None:
    items = [
        PageItem("PRIMARY", 10000, None, None, None, 4000, 1, None),
        PageItem("DUNNING_FEE", 250, None, None, None, 250, 2, 1),
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
def test_initials_do_not_reveal_the_name(
    names: tuple[str | None, str | None, str | None], initials: str
) -> None:
    first, last, company = names
    facts = some_facts(first_name=first, last_name=last, company_name=company)
    assert render_initials(facts) == initials


def test_only_a_completed_payment_request_counts_as_received() -> None:
    outcomes = {state: decide_outcome(state) for state in PaymentRequestState}
    received = {state for state, outcome in outcomes.items() if outcome is PaymentOutcome.RECEIVED}
    assert received == {PaymentRequestState.COMPLETED}
    assert outcomes[PaymentRequestState.PENDING] is PaymentOutcome.PENDING
    assert (
        outcomes[PaymentRequestState.OPEN]
        is outcomes[PaymentRequestState.CREATED]
        is PaymentOutcome.LEFT
    )
    assert (
        outcomes[PaymentRequestState.FAILED]
        is outcomes[PaymentRequestState.EXPIRED]
        is PaymentOutcome.ENDED
    )
