"""The demo reports which part of its progress did not happen, and its browser reads our pages."""

from typing import Any

from examples.page import PageReader
from examples.progress import (
    CHANNELS,
    PAYS_BY_DEBIT,
    PAYS_ON_PAGE,
    STATUSES,
    TYPES,
    DemoProgress,
    list_faults,
)

PAYMENT = {"paymentRequestId": "p", "amount": 12950, "currency": "EUR", "providerName": "sandbox"}
STATES = ("APPROVED", "REQUESTED")
WHOLE = [
    "CHECKPOINT_REACHED", "ESCALATED", "ESCALATED", "FEE_ADDED", "CHECKPOINT_REACHED",
    "ESCALATED", "ARCHIVED",
]  # fmt: skip


def a_complete_demo() -> tuple[DemoProgress, dict[str, str]]:
    """Return a complete progress as the webhooks report it, and the final statuses."""
    progress = DemoProgress()
    for claim_id, reference in enumerate(CHANNELS):
        progress.claims[claim_id] = reference
        channels = iter(CHANNELS[reference])
        for minute, kind in enumerate(TYPES.get(reference, WHOLE)):
            claim: dict[str, Any] = {"id": claim_id, "payment": PAYMENT}
            claim["details"] = {"communicationType": "EMAIL"}
            if kind == "ESCALATED":
                claim["communication"] = {"channel": next(channels)}
            date = f"2026-03-02T09:{minute:02d}:00Z"
            claim["referenceNumber"] = reference
            progress.record_event({"type": kind, "date": date, "claim": claim})
    statuses = {each: STATUSES.get(each, "ARCHIVED") for each in CHANNELS}
    return progress, statuses


def test_the_complete_demo_has_no_fault_in_any_order_of_its_webhooks() -> None:
    progress, statuses = a_complete_demo()
    progress.events.reverse()
    assert list_faults(progress, statuses) == []
    assert progress.was_paid_on_page()


def test_new_events_are_reported_once_in_order_without_earlier_demos() -> None:
    progress = DemoProgress(suffix="-2")
    for kind in ("PAYMENT_COMPLETED", "DETAILS_ACCESSED", "PAYMENT_IN_PROGRESS"):
        claim = {"id": 9, "referenceNumber": f"{PAYS_ON_PAGE}-2"}
        progress.record_event({"type": kind, "date": "2026-03-02T09:00:00Z", "claim": claim})
    earlier = {"id": 1, "referenceNumber": PAYS_ON_PAGE}
    progress.record_event({"type": "ARCHIVED", "date": "2026-03-02T09:00:00Z", "claim": earlier})
    assert [event["type"] for event in progress.pop_new_events()] == [
        "DETAILS_ACCESSED", "PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED",
    ]  # fmt: skip
    assert (progress.pop_new_events(), len(progress.events)) == ([], 4)


def test_a_plan_is_requested_before_it_is_approved_and_before_its_mandate() -> None:
    progress = DemoProgress()
    kinds = [("MANDATE_CHANGED", None), *[("PAYMENT_MODALITY_STATE_CHANGE", s) for s in STATES]]
    for kind, state in kinds:
        claim: dict[str, Any] = {"id": 1, "referenceNumber": PAYS_BY_DEBIT}
        if state is not None:
            claim["paymentModality"] = {"state": state}
        progress.record_event({"type": kind, "date": "2026-03-02T09:00:00Z", "claim": claim})
    ordered = [event["claim"].get("paymentModality") for event in progress.pop_new_events()]
    assert ordered == [{"state": "REQUESTED"}, {"state": "APPROVED"}, None]
    # The clock of the API counts numbered events only.
    assert progress.count_numbered() == 2


def test_a_missing_event_a_wrong_channel_and_a_wrong_end_are_named() -> None:
    progress, statuses = a_complete_demo()
    progress.events = [event for event in progress.events if event["type"] != "ARCHIVED"]
    statuses["TK-2026-1006"] = "IN_PROCESS"
    progress.refused.append("bad signature")
    faults = list_faults(progress, statuses)
    assert faults[0] == "a webhook was refused: bad signature"
    assert "TK-2026-1006: IN_PROCESS, not ARCHIVED" in faults
    assert len([each for each in faults if ": events [" in each]) == 5


def test_a_payment_completed_with_another_amount_is_named() -> None:
    progress, statuses = a_complete_demo()
    completed = next(e for e in progress.events if e["type"] == "PAYMENT_COMPLETED")
    completed["claim"]["payment"] = {**PAYMENT, "amount": 1}
    assert list_faults(progress, statuses) == ["amount has changed when the payment is completed"]


def test_a_claim_that_was_never_handed_over_is_reported() -> None:
    progress, statuses = a_complete_demo()
    del progress.claims[list(CHANNELS).index(PAYS_ON_PAGE)]
    assert list_faults(progress, statuses) == [f"{PAYS_ON_PAGE} was not handed over"]


def test_the_demo_browser_reads_headings_links_forms_and_buttons() -> None:
    reader = PageReader()
    reader.feed(
        '<title>t</title><h1>Your <b>claim</b></h1><a class="primary" href="/claim/pay">Pay now</a>'
        '<form method="post" action="/x"><input type="hidden" name="token" value="1">'
        '<input name="empty"><input type="checkbox" name="left">'
        '<input type="radio" name="n" value="a"><input type="radio" name="n" value="b" checked>'
        '<button name="decision" value="pay">Pay</button></form>'
    )
    link, button = reader.controls
    assert (reader.heading, link.words, link.href) == ("Your claim", "Pay now", "/claim/pay")
    assert button.form is not None
    assert (button.words, button.name, button.value) == ("Pay", "decision", "pay")
    assert (button.form.method, button.form.action) == ("POST", "/x")
    assert button.form.fields == {"token": "1", "empty": "", "n": "b"}
