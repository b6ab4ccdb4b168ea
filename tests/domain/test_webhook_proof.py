"""The proof of what an endpoint has acknowledged, and its rendering."""

from uuid import UUID

from dunwell.core.events.deliveries.proof import (
    MAX_NUMBERED,
    DeliveryCounts,
    DeliveryGap,
    GapKind,
    build_gap_report,
    render_gap_report,
)


def a_gap(number: int, state: str = "GIVEN_UP", attempts: int = 10) -> DeliveryGap:
    return DeliveryGap(number, UUID(int=number), "ESCALATED", 41, 3, state, attempts)


def test_the_proof_lists_the_unacknowledged_events() -> None:
    gaps = [a_gap(900), a_gap(1000, "PENDING", 2), a_gap(4000, "PENDING", 0)]

    proof = build_gap_report(
        DeliveryCounts(numbered=4713, first_number=812, last_sent=4711, open=3), gaps
    )

    assert (proof.first, proof.last, proof.acknowledged, proof.open) == (812, 4711, 3897, 3)
    assert (proof.waiting, proof.is_complete, proof.is_cut) == (2, False, False)
    assert [each.kind for each in proof.gaps] == [
        GapKind.GIVEN_UP, GapKind.RETRYING, GapKind.UNTRIED,
    ]  # fmt: skip
    assert list(render_gap_report(proof)) == [
        "Sent 812 to 4,711, acknowledged all but 3.",
        "  900  ESCALATED 3 of claim 41: given up",
        "  1,000  ESCALATED 3 of claim 41: failed, will be retried",
        "  4,000  ESCALATED 3 of claim 41: not tried yet",
        "2 more are waiting for their first attempt.",
    ]


def test_the_proof_names_an_addition_without_a_number() -> None:
    gap = DeliveryGap(7, UUID(int=7), "PAYMENT_REFUNDED", 41, None, "GIVEN_UP", 10)

    proof = build_gap_report(DeliveryCounts(numbered=7, first_number=1, last_sent=7, open=1), [gap])

    assert list(render_gap_report(proof))[1] == "  7  PAYMENT_REFUNDED of claim 41: given up"


def test_the_proof_of_an_endpoint_without_deliveries_claims_nothing() -> None:
    proof = build_gap_report(DeliveryCounts(numbered=2, first_number=1, last_sent=0, open=0), [])

    assert (proof.first, proof.last, proof.acknowledged, proof.waiting) == (0, 0, 0, 2)
    assert next(render_gap_report(proof)) == "Nothing was sent yet."


def test_a_proof_from_after_the_last_event_counts_waiting_events() -> None:
    proof = build_gap_report(DeliveryCounts(numbered=10, first_number=9, last_sent=8, open=0), [])

    assert (proof.last, proof.waiting) == (0, 2)


def test_more_gaps_than_are_listed_are_counted() -> None:
    proof = build_gap_report(DeliveryCounts(MAX_NUMBERED, 1, MAX_NUMBERED, 150), [a_gap(1)])

    assert proof.is_cut
    assert list(render_gap_report(proof))[-2:] == [
        "  and 149 more",
        "Only the newest 100,000 deliveries are numbered.",
    ]
