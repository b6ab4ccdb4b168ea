"""When an alert begins, is sent, repeated and ended, and which observations raise it."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from dunwell.accounts.installation.alerts.alert import (
    EVENT_KINDS,
    Alert,
    AlertCondition,
    AlertFigures,
    AlertKind,
    AlertPhase,
    AlertSettings,
    FailureThreshold,
    compare_alerts,
    decide_phase,
)
from dunwell.accounts.installation.installation_file import Installation, check_installation
from dunwell.operations.alerts.alert_conditions import (
    ExternalFindings,
    MerchantCount,
    Observations,
    ProviderCount,
    ProviderFigures,
    list_alert_conditions,
)
from dunwell.operations.alerts.alert_emails import (
    AlertNotification,
    describe_alert,
    render_alert_email,
)
from dunwell.operations.alerts.send_alert_emails import choose_sender, order_email_providers
from dunwell.operations.dashboards.figures import ArrivalFigures, DestinationFigures
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.translation import find_staff_language
from tests.support.durations import JUST
from tests.support.operators import OWN

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_LINES: dict[str, Any] = {
    "post": {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"},
    "box": {
        "channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587",
        "returnDomain": "r.example.com",
        "mailbox": {"server": "i:993", "credentials": {"user": "u", "passwordFile": "p"}},
    },
    "print": {"channel": "LETTER", "adapter": "folder", "folder": "/letters"},
}  # fmt: skip
LINES = check_installation({"deliveryProviders": _LINES}).delivery_providers or {}
NOTHING = Observations(
    waiting=[], batches=[], mailboxes=[], unknown=[], overdue=[], unseen=[], off=[], failing=[],
    unmatched_sms=[], unmatched_reports=[], step_due_at=None,
)  # fmt: skip
NO_FIGURES = ProviderFigures({}, [])


def an_alert(kind: AlertKind = AlertKind.PROVIDER_BACKLOG, **given: Any) -> Alert:
    usual: dict[str, Any] = {
        "alert_id": UUID(int=7), "kind": kind, "subject": "post", "began_at": NOW,
        "figures": AlertFigures(count=3, since=NOW - HOUR), "seen_at": NOW, "ended_at": None,
    }  # fmt: skip
    return Alert(**usual | given)


@pytest.mark.parametrize(
    ("alert", "later", "phase"),
    [
        (an_alert(), HOUR, AlertPhase.BEGAN),
        (an_alert(ended_at=NOW), HOUR, None),
        (an_alert(reported_phase=AlertPhase.BEGAN, reported_at=NOW), DAY - JUST, None),
        (an_alert(reported_phase=AlertPhase.BEGAN, reported_at=NOW), DAY, AlertPhase.LASTS),
        (an_alert(reported_phase=AlertPhase.LASTS, reported_at=NOW), DAY - JUST, None),
        (an_alert(reported_phase=AlertPhase.LASTS, reported_at=NOW), DAY, AlertPhase.LASTS),
        (
            an_alert(reported_phase=AlertPhase.BEGAN, reported_at=NOW, ended_at=NOW),
            JUST,
            AlertPhase.OVER,
        ),
        (
            an_alert(reported_phase=AlertPhase.LASTS, reported_at=NOW, ended_at=NOW),
            JUST,
            AlertPhase.OVER,
        ),
        (an_alert(reported_phase=AlertPhase.OVER, reported_at=NOW, ended_at=NOW), 9 * DAY, None),
        (an_alert(AlertKind.BREAK_GLASS, ended_at=NOW), JUST, AlertPhase.BEGAN),
        (
            an_alert(
                AlertKind.BREAK_GLASS,
                ended_at=NOW,
                reported_phase=AlertPhase.BEGAN,
                reported_at=NOW,
            ),
            DAY,
            None,
        ),
    ],
)
def test_an_alert_is_sent_once_repeated_later_and_sent_when_it_is_over(
    alert: Alert, later: timedelta, phase: AlertPhase | None
) -> None:
    assert decide_phase(alert, NOW + later, DAY) is phase


def test_a_condition_that_comes_and_goes_is_one_alert() -> None:
    condition = AlertCondition(AlertKind.PROVIDER_BACKLOG, "post", AlertFigures(count=4))
    other = AlertCondition(AlertKind.PROVIDER_BACKLOG, "box")
    alert = an_alert()
    assert compare_alerts([], [condition, condition], NOW).began == [condition]
    changes = compare_alerts([alert], [condition, other], NOW)
    assert (changes.began, changes.over) == ([other], [])
    assert changes.lasting == {alert.alert_id: condition}
    a_quarter = timedelta(minutes=15)
    assert compare_alerts([alert], [], NOW + a_quarter - JUST).over == []
    assert compare_alerts([alert], [], NOW + a_quarter).over == [alert.alert_id]


@pytest.mark.parametrize(
    ("sent", "failed", "is_reached"),
    [(9, 9, False), (10, 10, True), (200, 10, True), (201, 10, False), (1000, 50, True)],
)
def test_a_provider_fails_by_the_number_and_share_of_failures(
    sent: int, failed: int, *, is_reached: bool
) -> None:
    assert FailureThreshold().is_reached(sent=sent, failed=failed) is is_reached
    assert not FailureThreshold(percent=100, least=3).is_reached(sent=4, failed=3)


def look(
    figures: ProviderFigures = NO_FIGURES, outside: ExternalFindings | None = None, **seen: Any
) -> Any:
    found = list_alert_conditions(
        AlertSettings(), LINES, msgspec.structs.replace(NOTHING, **seen), figures,
        outside or ExternalFindings(),
        now=NOW,
    )  # fmt: skip
    return [(each.kind, each.subject) for each in found]


def test_without_observations_there_is_no_alert_condition() -> None:
    assert look() == []


@pytest.mark.parametrize(
    ("kind", "seen", "subject"),
    [
        (AlertKind.PROVIDER_BACKLOG, {"waiting": [ProviderCount("post", 3, NOW)]}, "post"),
        (AlertKind.BATCH_LATE, {"batches": [ProviderCount("print", 3, NOW - 2 * HOUR)]}, "print"),
        (None, {"batches": [ProviderCount("print", 3, NOW - 2 * HOUR + JUST)]}, ""),
        (AlertKind.MAILBOX_LATE, {"mailboxes": [("box", NOW - HOUR)]}, "box"),
        (None, {"mailboxes": [("box", NOW - HOUR + JUST)]}, ""),
        (None, {"mailboxes": [("post", NOW - DAY)]}, ""),
        (None, {"mailboxes": [("gone", NOW - DAY)]}, ""),
        (
            AlertKind.UNMATCHED_REPORTS,
            {"unmatched_reports": [ProviderCount("post", 10, NOW)]},
            "post",
        ),
        (None, {"unmatched_reports": [ProviderCount("post", 9, NOW)]}, ""),
        (AlertKind.UNMATCHED_SMS, {"unmatched_sms": [ProviderCount("sms", 1, NOW)]}, "sms"),
        (AlertKind.UNKNOWN_SENDS, {"unknown": [MerchantCount(7, "nord", 1, NOW)]}, "7"),
        (AlertKind.OVERDUE_DISPUTES, {"overdue": [MerchantCount(7, "nord", 1, NOW)]}, "7"),
        (AlertKind.UNSEEN_REPLIES, {"unseen": [MerchantCount(7, "nord", 1, NOW)]}, "7"),
        (AlertKind.WEBHOOKS_OFF, {"off": [MerchantCount(7, "nord", 1, NOW)]}, "7"),
        (AlertKind.WEBHOOKS_FAILING, {"failing": [MerchantCount(7, "nord", 1, NOW)]}, "7"),
        (AlertKind.STEPS_LATE, {"step_due_at": NOW}, ""),
    ],
)
def test_work_that_waits_too_long_is_an_alert_condition(
    kind: AlertKind | None, seen: dict[str, Any], subject: str
) -> None:
    assert look(**seen) == ([(kind, subject)] if kind else [])


@pytest.mark.parametrize(
    ("failed", "people", "kinds"),
    [
        (10, 3, [AlertKind.PROVIDER_FAILING, AlertKind.DESTINATION_FAILING]),
        (9, 9, []),
        # A domain with so few recipients could belong to a single person.
        (10, 2, [AlertKind.PROVIDER_FAILING]),
    ],
)
def test_a_domain_that_refuses_our_e_mails_is_an_alert_condition(
    failed: int, people: int, kinds: list[AlertKind]
) -> None:
    sent = ArrivalFigures(100, 0, failed)
    figures = ProviderFigures(
        {"post": sent}, [DestinationFigures("post", "mail.example", sent, people)]
    )
    assert [kind for kind, _ in look(figures)] == kinds
    unknown = ProviderFigures({}, [DestinationFigures("post", None, sent, people)])
    assert look(unknown) == []


def test_external_findings_are_alert_conditions() -> None:
    outside = ExternalFindings(unusable=["post"], is_archive_behind=True)
    assert look(outside=outside) == [
        (AlertKind.PROVIDER_UNUSABLE, "post"),
        (AlertKind.ARCHIVE_BEHIND, ""),
    ]


@pytest.mark.parametrize("language", ["en", "de"])
def test_each_kind_of_alert_has_a_text(language: str) -> None:
    figures = AlertFigures(count=3, among=40, since=NOW, merchant="nordwind")
    for kind in AlertKind:
        words = describe_alert(an_alert(kind, figures=figures), find_staff_language(language))
        assert "None" not in words
        assert words[0].isupper() or words.startswith(("post:", "nordwind:"))
    assert set(AlertKind) >= EVENT_KINDS


def test_an_alert_email_lists_all_changes_with_links_to_their_pages() -> None:
    unknown = an_alert(
        AlertKind.UNKNOWN_SENDS,
        subject="7",
        figures=AlertFigures(count=2, since=NOW, merchant="nordwind"),
    )
    notifications = [
        AlertNotification(an_alert(), AlertPhase.BEGAN), AlertNotification(unknown,
        AlertPhase.LASTS),
        AlertNotification(an_alert(AlertKind.BATCH_LATE, subject="print"), AlertPhase.OVER),
    ]  # fmt: skip
    subject, body = render_alert_email(notifications, AlertSettings(), "https://pay.example.com")
    assert subject == (
        "Dunwell alert: Delivery provider post: unsent messages: 3, "
        "since 2026-03-02 08:00 UTC, and 1 more"
    )
    assert body.startswith("New:\n- Delivery provider post: unsent messages: 3")
    providers_page = "https://pay.example.com/portal/delivery-providers"
    assert f"\n  {providers_page}\n\nStill active:\n- nordwind: messages with" in body
    assert (
        "https://pay.example.com/portal/m/7/messages?state=UNKNOWN\n\nResolved:\n- Delivery" in body
    )
    assert "active alerts every 24 hours" in body


def test_an_email_about_ended_alerts_says_so_in_its_subject() -> None:
    over = [AlertNotification(an_alert(), AlertPhase.OVER)]
    assert render_alert_email(over, AlertSettings(language="de"), "")[0].startswith(
        "Dunwell-Alarm beendet: Versandanbieter"
    )


def test_alert_emails_prefer_a_provider_without_alerts() -> None:
    assert order_email_providers(AlertSettings(), LINES, ()) == ["post", "box"]
    assert order_email_providers(AlertSettings(provider="box"), LINES, ()) == ["box", "post"]
    assert order_email_providers(AlertSettings(provider="box"), LINES, ["box"]) == ["post", "box"]
    assert order_email_providers(AlertSettings(), {}, ()) == []


def test_the_sender_is_the_configured_one_or_the_operators() -> None:
    named = Installation(operator=OWN, alerts=AlertSettings(sender="dunwell@example.com"))
    assert choose_sender(named, "ops@example.com") == "dunwell@example.com"
    assert choose_sender(Installation(operator=OWN), "ops@example.com") == OWN.contact.email
    assert choose_sender(Installation(), "ops@example.com") == "ops@example.com"


@pytest.mark.parametrize(
    ("alarms", "path"),
    [
        ({"email": ["ops"]}, "/alerts/email/0"),
        ({"email": ["ops@example.com", "a@b.c\n"]}, "/alerts/email/1"),
        ({"from": "Dunwell"}, "/alerts/from"),
        ({"email": ["ops@example.com"] * 21}, "/alerts/email"),
        ({"againAfterHours": 0}, "/alerts/againAfterHours"),
        ({"lateAfterMinutes": 1}, "/alerts/lateAfterMinutes"),
        ({"failing": {"percent": 0}}, "/alerts/failing/percent"),
        ({"failing": {"least": 2}}, "/alerts/failing/least"),
        ({"language": "fr"}, "/alerts/language"),
        ({"mail": []}, "/alerts/mail"),
    ],
)
def test_faulty_alert_settings_are_refused_with_their_paths(
    alarms: dict[str, Any], path: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        check_installation({"alerts": alarms})
    assert {fault.path for fault in refused.value.faults} == {path}
