"""The e-mails that report alerts to operators, and failing webhook endpoints to merchants. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dunwell.accounts.installation.alerts.alert import Alert, AlertKind, AlertPhase, AlertSettings
from dunwell.core.events.webhooks.endpoint import ReportedEndpoint, render_origin
from dunwell.platform.text.translation import Language, LazyText, find_staff_language

# The portal page on which the cause of an alert is shown and resolved.
ALERT_PAGES: Mapping[AlertKind, str] = {
    AlertKind.UNKNOWN_SENDS: "/portal/m/{subject}/messages?state=UNKNOWN",
    AlertKind.OVERDUE_DISPUTES: "/portal/m/{subject}/disputes",
    AlertKind.UNSEEN_REPLIES: "/portal/m/{subject}/replies",
    AlertKind.WEBHOOKS_OFF: "/portal/m/{subject}/webhooks",
    AlertKind.WEBHOOKS_FAILING: "/portal/m/{subject}/webhooks",
    AlertKind.UNMATCHED_SMS: "/portal/delivery-providers/unmatched",
    AlertKind.UNMATCHED_REPORTS: "/portal/delivery-providers/unmatched?of=reports",
    AlertKind.BREAK_GLASS: "/portal/people/audit",
    AlertKind.SECOND_FACTOR_LOCKED: "/portal/people/audit",
}
_PROVIDERS_PAGE = "/portal/delivery-providers"

_DESCRIPTIONS: Mapping[AlertKind, LazyText] = {
    AlertKind.PROVIDER_UNUSABLE: LazyText(
        "Delivery provider %(subject)s is not usable. Run dunwell doctor to see the reason"
    ),
    AlertKind.PROVIDER_FAILING: LazyText(
        "Delivery provider %(subject)s: %(count)s of %(among)s messages failed in one day"
    ),
    AlertKind.DESTINATION_FAILING: LazyText(
        "%(subject)s: %(count)s of %(among)s messages to this destination failed in one day"
    ),
    AlertKind.PROVIDER_BACKLOG: LazyText(
        "Delivery provider %(subject)s: unsent messages: %(count)s, since %(since)s"
    ),
    AlertKind.BATCH_LATE: LazyText(
        "Delivery provider %(subject)s: letters waiting for a print batch: %(count)s, "
        "since %(since)s"
    ),
    AlertKind.MAILBOX_LATE: LazyText(
        "Delivery provider %(subject)s: its mailbox has not been read by dunwell mail "
        "since %(since)s"
    ),
    AlertKind.UNMATCHED_REPORTS: LazyText(
        "Delivery provider %(subject)s: unmatched delivery reports in one day: %(count)s"
    ),
    AlertKind.UNMATCHED_SMS: LazyText(
        "Delivery provider %(subject)s: unmatched SMS replies in one day: %(count)s"
    ),
    AlertKind.PAYMENT_ACCOUNT_MISSING: LazyText(
        "Account %(subject)s at a payment provider is not in the installation file or not usable, "
        "but payments or refunds need it. Run dunwell doctor to see the reason"
    ),
    AlertKind.PAYMENT_ACCOUNT_FAILING: LazyText(
        "Account %(subject)s at a payment provider has not returned a usable response since "
        "%(since)s. Run dunwell doctor to see the reason"
    ),
    AlertKind.UNKNOWN_SENDS: LazyText(
        "%(merchant)s: messages with unknown delivery status: %(count)s, since %(since)s"
    ),
    AlertKind.OVERDUE_DISPUTES: LazyText(
        "%(merchant)s: disputes with an overdue response: %(count)s, since %(since)s"
    ),
    AlertKind.UNSEEN_REPLIES: LazyText("%(merchant)s: unread replies: %(count)s, since %(since)s"),
    AlertKind.WEBHOOKS_OFF: LazyText(
        "%(merchant)s: disabled webhook endpoints: %(count)s, since %(since)s"
    ),
    AlertKind.WEBHOOKS_FAILING: LazyText(
        "%(merchant)s: failing webhook endpoints: %(count)s, since %(since)s"
    ),
    AlertKind.STEPS_LATE: LazyText(
        "Workflow steps have been due since %(since)s and are not processed. Check "
        "that a worker is running"
    ),
    AlertKind.ARCHIVE_BEHIND: LazyText(
        "The database archive is behind. Run dunwell doctor to see the reason"
    ),
    AlertKind.CLOCKS_APART: LazyText(
        "Clocks differ: host %(subject)s showed %(host_clock)s when the database "
        "showed %(database_clock)s. If they differ by more than 30 seconds, the host "
        "stops working"
    ),
    AlertKind.BREAK_GLASS: LazyText("Emergency access used at %(began)s"),
    AlertKind.SECOND_FACTOR_LOCKED: LazyText(
        "Someone who knows a user's password entered ten wrong codes, at %(began)s"
    ),
}
_HEADINGS: Mapping[AlertPhase, LazyText] = {
    AlertPhase.BEGAN: LazyText("New"),
    AlertPhase.LASTS: LazyText("Still active"),
    AlertPhase.OVER: LazyText("Resolved"),
}


@dataclass(frozen=True, slots=True)
class AlertNotification:
    alert: Alert
    phase: AlertPhase


def render_alert_email(
    notifications: Sequence[AlertNotification], settings: AlertSettings, public_url: str
) -> tuple[str, str]:
    """Return the subject and the text."""
    language = find_staff_language(settings.language)
    blocks = []
    for phase in AlertPhase:
        of_phase = [each for each in notifications if each.phase is phase]
        if of_phase:
            heading = language.translate(_HEADINGS[phase])
            lines = _render_alerts(of_phase, language, public_url)
            blocks.append(f"{heading}:\n" + "\n".join(lines))
    end = language.translate(
        "You will be reminded of active alerts every %(hours)s hours and notified when "
        "they are resolved. The recipients are set in the installation file (alerts).",
        hours=settings.again_after_hours,
    )
    blocks.append(end)
    return _render_subject(notifications, language), "\n\n".join(blocks) + "\n"


def _render_subject(notifications: Sequence[AlertNotification], language: Language) -> str:
    active = [each for each in notifications if each.phase is not AlertPhase.OVER]
    shown = active or notifications
    translate, what = language.translate, describe_alert(shown[0].alert, language)
    if len(shown) > 1:
        what = translate("%(what)s, and %(more)s more", what=what, more=len(shown) - 1)
    if active:
        return translate("Dunwell alert: %(what)s", what=what)
    return translate("Dunwell alert resolved: %(what)s", what=what)


def _render_alerts(
    notifications: Sequence[AlertNotification], language: Language, public_url: str
) -> list[str]:
    return [
        f"- {describe_alert(each.alert, language)}.\n  {public_url}{get_alert_page(each.alert)}"
        for each in notifications
    ]


def get_alert_page(alert: Alert) -> str:
    """Return the path of the portal page for the alert."""
    return ALERT_PAGES.get(alert.kind, _PROVIDERS_PAGE).format(subject=alert.subject)


def describe_alert(alert: Alert, language: Language) -> str:
    figures = alert.figures
    return language.translate(
        _DESCRIPTIONS[alert.kind],
        subject=alert.subject,
        merchant=figures.merchant,
        count=figures.count,
        among=figures.among,
        since=_render_time(figures.since, language),
        began=_render_time(alert.began_at, language),
        host_clock=_render_clock(figures.host_clock),
        database_clock=_render_clock(figures.database_clock),
    )


def _render_clock(at: datetime | None) -> str:
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _render_time(at: datetime | None, language: Language) -> str:
    if at is None:
        return language.translate("the start")
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


# The maximum number of endpoints named in one e-mail. If more of them fail, the cause is usually
# the same.
_MAX_NAMED = 20


def render_webhook_email(
    endpoints: Sequence[ReportedEndpoint], language: str, public_url: str
) -> tuple[str, str]:
    """Return the subject and the text. The endpoints belong to one merchant; there is at least one,
    and either all of them fail or all of them work again."""
    first, translate = endpoints[0], find_staff_language(language).translate
    origin = render_origin(first.url)
    webhooks_page = f"{public_url}/portal/m/{first.merchant_id}/webhooks"
    if first.since is not None:
        subject = translate("Failing webhooks: %(origin)s", origin=origin)
        intro = translate(
            "Dunwell cannot deliver events to the webhook endpoints below. The events are "
            "kept and retried for about three days. An endpoint that fails continuously "
            "for five days is disabled."
        )
    else:
        subject = translate("Webhooks work again: %(origin)s", origin=origin)
        intro = translate(
            "These webhook endpoints accept events again. Pending events are being delivered now."
        )
    blocks = [
        intro,
        *(_render_endpoint(each, translate, webhooks_page) for each in endpoints[:_MAX_NAMED]),
    ]
    left_out = len(endpoints) - _MAX_NAMED
    if left_out > 0:
        blocks.append(
            translate("And %(count)s more: %(address)s", count=left_out, address=webhooks_page)
        )
    if first.since is not None:
        end = translate(
            "You receive this message because this address is your contact address in Dunwell. "
            "You will receive one more message for each endpoint when it works again."
        )
        blocks.append(end)
    if len(endpoints) > 1:
        others = len(endpoints) - 1
        subject = translate("%(subject)s and %(count)s more", subject=subject, count=others)
    return subject, "\n\n".join(blocks) + "\n"


def _render_endpoint(
    endpoint: ReportedEndpoint, translate: Callable[..., str], webhooks_page: str
) -> str:
    lines = [render_origin(endpoint.url)]
    if endpoint.since is not None:
        lines.append(translate("Failing since %(since)s", since=_render_instant(endpoint.since)))
    if endpoint.status is not None:
        lines.append(translate("Last response: HTTP status %(status)s", status=endpoint.status))
    elif endpoint.error is not None:
        error = endpoint.error
        lines.append(translate("No response at the last attempt (%(error)s)", error=error))
    address = f"{webhooks_page}/{endpoint.endpoint_id}"
    lines.append(translate("Details: %(address)s", address=address))
    return "\n".join(lines)


def _render_instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
