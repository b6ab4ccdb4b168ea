"""Dispute reasons, and the rules of a dispute."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.configuration import DisputeReason, DisputeSettings
from dunwell.cases.disputes.dispute import (
    ClaimDispute,
    DisputeState,
    NewDispute,
    check_may_open,
    check_new_dispute,
    check_transition,
)
from dunwell.cases.disputes.reasons import (
    ALWAYS_OFFERED,
    RESERVED_NAMES,
    DisputeType,
    list_offered_reasons,
    list_reasons,
)
from dunwell.platform.errors import InvalidState, ValidationError

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ID = UUID("01955b2e-4c00-7a1f-8d3b-5a6978c0d1e2")
SHOES = DisputeSettings(
    (
        DisputeReason("DEFECTIVE", {"de": "Der Schuh drückt"}),
        DisputeReason("INSOLVENCY", is_hidden=True),
        DisputeReason("WRONG_SIZE", {"en": "Wrong size", "de": "Falsche Größe"}),
    )
)


def a_dispute(state: DisputeState = DisputeState.OPEN, **changes: Any) -> ClaimDispute:
    values = {
        "dispute_id": ID, "claim_id": 1, "type": DisputeType.AMOUNT_WRONG, "reason": None,
        "label": None, "message": "ten too much", "answers": {}, "hold_id": ID,
        "actor_kind": ActorKind.DEBTOR, "opened_at": AT, "state": state,
    }  # fmt: skip
    return ClaimDispute(**{**values, **changes})


def test_the_standard_reasons_are_in_the_documented_order() -> None:
    assert [each.name for each in list_offered_reasons(DisputeSettings())] == [
        "DEBTOR_ALREADY_PAID", "AMOUNT_WRONG", "GOODS_NOT_RECEIVED", "GOODS_RETURNED", "DEFECTIVE",
        "CONTRACT_CANCELLED", "WRONG_PERSON", "NOT_MY_DEBT", "IDENTITY_THEFT", "ALREADY_IN_PLAN",
        "INSOLVENCY", "STATUTE_BARRED", "DOCUMENTS_MISSING", "PERSON_DIED", "OTHER",
    ]  # fmt: skip


def test_a_merchant_can_hide_rename_and_add_reasons() -> None:
    offered = {each.name: each for each in list_offered_reasons(SHOES)}
    assert "INSOLVENCY" not in offered
    assert offered["DEFECTIVE"].labels == {"de": "Der Schuh drückt"}
    assert not offered["DEFECTIVE"].is_own
    assert list(offered)[-2:] == ["WRONG_SIZE", "OTHER"]
    own = offered["WRONG_SIZE"]
    assert (own.type, own.is_own) == (DisputeType.OTHER, True)
    assert [own.label_in(code) for code in ("de", "en", "fr")] == [
        "Falsche Größe", "Wrong size", "Wrong size",
    ]  # fmt: skip


_REASONS = st.builds(
    DisputeReason,
    type=st.sampled_from([*DisputeType, "WRONG_SIZE", "TOO_LATE"]),
    labels=st.just({"de": "Anders"}),
    is_hidden=st.booleans(),
)


@given(st.lists(_REASONS, unique_by=lambda each: each.type))
def test_reserved_reasons_cannot_be_hidden_and_names_stay_unique(
    reasons: list[DisputeReason],
) -> None:
    disputes = DisputeSettings(tuple(reasons))
    offered = [each.name for each in list_offered_reasons(disputes)]
    assert set(offered) >= ALWAYS_OFFERED
    known = [each.name for each in list_reasons(disputes)]
    assert len(known) == len(set(known))
    assert set(known) == set(RESERVED_NAMES) | {each.type for each in reasons}
    hidden = {each.type for each in reasons if each.is_hidden} - ALWAYS_OFFERED
    assert set(known) - set(offered) == hidden


@pytest.mark.parametrize("actor", [ActorKind.CREDENTIAL, ActorKind.USER, ActorKind.OPERATOR])
def test_only_debtors_are_limited_to_the_offered_reasons(actor: ActorKind) -> None:
    hidden = NewDispute("INSOLVENCY")
    assert check_new_dispute(hidden, SHOES, actor).type is DisputeType.INSOLVENCY
    with pytest.raises(ValidationError) as refusal:
        check_new_dispute(hidden, SHOES, ActorKind.DEBTOR)
    assert [fault.path for fault in refusal.value.faults] == ["/type"]


@pytest.mark.parametrize(
    ("new", "faults"),
    [
        (NewDispute("OTHER"), [("/message", "REQUIRED")]),
        (NewDispute("OTHER", " \n"), [("/message", "REQUIRED")]),
        (NewDispute("WRONG_SISE"), [("/type", "NOT_ALLOWED")]),
        (NewDispute("DEFECTIVE", "x" * 2001), [("/message", "TOO_LONG")]),
        (NewDispute("DEFECTIVE", "a\x00"), [("/message", "CONTROL_CHARACTER")]),
        (NewDispute("DEFECTIVE", answers={"when": "x" * 2001}), [("/answers", "TOO_LONG")]),
        (NewDispute("DEFECTIVE", answers={"x" * 256: ""}), [("/answers", "TOO_LONG")]),
        (NewDispute("DEFECTIVE", answers={"a": "\x00"}), [("/answers/a", "CONTROL_CHARACTER")]),
        (
            NewDispute("DEFECTIVE", answers={str(n): "" for n in range(21)}),
            [("/answers", "TOO_MANY")],
        ),
        (NewDispute("X", "a\x07"), [("/message", "CONTROL_CHARACTER"), ("/type", "NOT_ALLOWED")]),
    ],
)
def test_every_fault_of_a_dispute_is_reported(
    new: NewDispute, faults: list[tuple[str, str]]
) -> None:
    with pytest.raises(ValidationError) as refusal:
        check_new_dispute(new, SHOES, ActorKind.DEBTOR)
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == faults


def test_the_nearest_name_is_suggested_and_limits_are_inclusive() -> None:
    with pytest.raises(ValidationError) as refusal:
        check_new_dispute(NewDispute("WRONG_SISE"), SHOES, ActorKind.DEBTOR)
    assert 'Did you mean "WRONG_SIZE"?' in refusal.value.faults[0].message
    answers = {str(n): "x" * 2000 for n in range(20)}
    new = NewDispute("OTHER", "x" * 2000, answers)
    assert check_new_dispute(new, SHOES, ActorKind.DEBTOR).type is DisputeType.OTHER


def test_a_debtor_may_have_one_open_dispute_per_reason_and_open_five_in_thirty_days() -> None:
    reason = next(
        each for each in list_offered_reasons(DisputeSettings()) if each.name == "AMOUNT_WRONG"
    )
    old = [a_dispute(DisputeState.WITHDRAWN)] * 5
    theirs = a_dispute(actor_kind=ActorKind.CREDENTIAL)

    check_may_open(reason, [theirs, *old[1:]], AT)
    check_may_open(reason, old, AT + timedelta(days=30))
    for earlier, state in (([a_dispute()], "OPEN"), (old, "TOO_MANY")):
        with pytest.raises(InvalidState) as refusal:
            check_may_open(reason, earlier, AT + timedelta(days=29))
        assert refusal.value.details == {"state": state}


@pytest.mark.parametrize("state", DisputeState)
@pytest.mark.parametrize("following", [each for each in DisputeState if each != "OPEN"])
def test_a_dispute_ends_once(state: DisputeState, following: DisputeState) -> None:
    dispute = a_dispute(state)
    if state in {DisputeState.OPEN, following}:
        assert check_transition(dispute, following) is (state is DisputeState.OPEN)
        return
    with pytest.raises(InvalidState) as refusal:
        check_transition(dispute, following)
    assert refusal.value.details == {"state": state.value}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": DisputeType.AMOUNT_WRONG, "message": "ten too much"}, None),
        ({"type": DisputeType.OTHER, "message": "ten too much"}, "ten too much"),
        (
            {"type": DisputeType.OTHER, "reason": "WRONG_SIZE", "label": "Falsche Größe"},
            "Falsche Größe",
        ),
    ],
)
def test_the_event_has_a_message_only_for_the_reason_other(
    changes: dict[str, Any], message: str | None
) -> None:
    assert a_dispute(**changes).event_message == message
