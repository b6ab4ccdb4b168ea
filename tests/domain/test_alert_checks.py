"""Findings of `dunwell doctor` about alerts."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.installation.alerts.alert import Alert, AlertFigures, AlertKind
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.interfaces.cli.findings.installation import (
    describe_alert_checks,
    describe_alert_recipients,
    list_active_alerts,
)
from dunwell.operations.alerts.check_alerts import AlertOverview

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
_PROVIDER = {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"}


@pytest.mark.parametrize(
    ("last_checked_at", "is_stale", "mark", "words"),
    [
        (NOW, False, "ok", "a worker checks for alerts each minute"),
        (None, True, "note", "alert checks have not run yet"),
        (NOW, True, "FAULT", "alert checks have not run since 2026-03-02 09:00 UTC"),
    ],
)
def test_the_doctor_reports_that_no_process_checks_for_alerts(
    last_checked_at: datetime | None, is_stale: bool, mark: str, words: str
) -> None:
    found = describe_alert_checks(
        AlertOverview([], last_checked_at, is_stale, has_recipients=False)
    )
    assert (found.mark, found.words) == (mark, words)


@pytest.mark.parametrize(
    ("document", "mark", "words"),
    [
        ({"trustedProxies": []}, "note", "no alert recipients are configured"),
        (
            {"alerts": {"email": ["ops@example.com"]}}, "FAULT",
            "cannot be sent to 1 addresses: there is no provider for e-mail",
        ),
        (
            {"alerts": {"email": ["ops@example.com"]}, "deliveryProviders": {"post": _PROVIDER}},
            "ok",
            "sent to 1 addresses by the provider post",
        ),
    ],
)  # fmt: skip
def test_the_doctor_names_the_recipients_of_alerts(
    document: dict[str, Any], mark: str, words: str
) -> None:
    found = describe_alert_recipients(check_installation(document))
    assert (found.mark, found.words) == (mark, words)


def test_active_alerts_are_notes_of_the_doctor() -> None:
    alert = Alert(
        alert_id=UUID(int=1), kind=AlertKind.STEPS_LATE, subject="",
        figures=AlertFigures(since=NOW),
        began_at=NOW, seen_at=NOW, ended_at=None,
    )  # fmt: skip
    [found] = list_active_alerts(AlertOverview([alert], NOW, is_stale=False, has_recipients=True))
    assert (found.mark, found.words[:45]) == (
        "note",
        "Workflow steps have been due since 2026-03-02",
    )
