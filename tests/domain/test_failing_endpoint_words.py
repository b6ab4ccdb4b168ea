"""Texts about failing webhook endpoints stay short, however many fail."""

from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.core.events.webhooks.endpoint import ReportedEndpoint, UndeliveredEvents, render_origin
from dunwell.core.events.webhooks.health.metrics import MAX_LABELS, OTHERS, compute_labels
from dunwell.operations.alerts.alert_emails import render_webhook_email
from tests.support.merchants import AT_NOON

_RAISED = UUID(int=int(AT_NOON.timestamp() * 1000) << 80)


def an_endpoint(number: int, status: int | None = 503) -> ReportedEndpoint:
    url = f"https://user:secret@erp{number}.example:8443/hooks?key=secret"
    error = None if status else "timed out"
    return ReportedEndpoint(7, UUID(int=number), url, AT_NOON, status=status, error=error)


def test_only_the_first_endpoints_have_their_own_label() -> None:
    waiting = [UndeliveredEvents(UUID(int=n), 2, _RAISED) for n in range(MAX_LABELS + 3)]
    counts, ages = compute_labels(waiting, AT_NOON + timedelta(minutes=5))
    assert len(counts) == len(ages) == MAX_LABELS + 1
    assert (counts[OTHERS], counts[str(UUID(int=0))]) == (6, 2)
    assert set(ages.values()) == {300.0}


def test_without_waiting_deliveries_the_metrics_are_zero() -> None:
    assert compute_labels([], AT_NOON) == ({OTHERS: 0}, {OTHERS: 0.0})


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_an_email_names_twenty_endpoints_and_the_number_of_others(language: str) -> None:
    endpoints = [an_endpoint(number) for number in range(25)]
    subject, body = render_webhook_email(endpoints, language, "https://dunwell.example")
    assert "https://erp0.example:8443" in subject
    assert body.count("https://erp") == 20
    assert "https://dunwell.example/portal/m/7/webhooks\n" in body
    assert "secret" not in subject + body
    assert "hooks?" not in body


def test_a_missing_response_is_described_in_words() -> None:
    _, body = render_webhook_email([an_endpoint(1, None)], "en", "https://dunwell.example")
    assert "No response at the last attempt (timed out)" in body
    assert "Failing since 2026-03-02 12:00 UTC" in body


def test_the_shown_origin_contains_neither_user_nor_path() -> None:
    assert render_origin(an_endpoint(1).url) == "https://erp1.example:8443"
