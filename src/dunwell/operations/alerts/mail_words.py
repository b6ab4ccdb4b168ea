"""The e-mails that report alerts to operators, and failing webhook endpoints to merchants. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dunwell.accounts.installation.alerts.alert import Alarm, Alarms, AlertKind, Phase
from dunwell.core.events.webhooks.endpoint import ToldEndpoint, find_origin
from dunwell.platform.text.lazy_text import LazyText
from dunwell.platform.text.translation import Language, find_staff_language

# Where in the portal it is looked at and mended.
PLACES: Mapping[AlertKind, str] = {
    AlertKind.UNKNOWN_SENDS: "/portal/m/{subject}/messages?state=UNKNOWN",
    AlertKind.OVERDUE_DISPUTES: "/portal/m/{subject}/disputes",
    AlertKind.UNSEEN_REPLIES: "/portal/m/{subject}/replies",
    AlertKind.WEBHOOKS_OFF: "/portal/m/{subject}/webhooks",
    AlertKind.WEBHOOKS_FAILING: "/portal/m/{subject}/webhooks",
    AlertKind.UNMATCHED_SMS: "/portal/lines/unplaced",
    AlertKind.UNMATCHED_REPORTS: "/portal/lines/unplaced?of=reports",
    AlertKind.BREAK_GLASS: "/portal/people/audit",
    AlertKind.SECOND_FACTOR_LOCKED: "/portal/people/audit",
}
_LINES = "/portal/lines"

_DESCRIPTIONS: Mapping[AlertKind, LazyText] = {
    AlertKind.LINE_UNUSABLE: LazyText(
        "Line %(subject)s cannot be used as it stands; dunwell doctor says why"
    ),
    AlertKind.LINE_FAILING: LazyText(
        "Line %(subject)s: of %(among)s messages in a day %(count)s failed"
    ),
    AlertKind.DESTINATION_FAILING: LazyText(
        "%(subject)s: of %(among)s messages in a day %(count)s failed there"
    ),
    AlertKind.LINE_BACKLOG: LazyText(
        "Line %(subject)s: messages that wait to leave: %(count)s, since %(since)s"
    ),
    AlertKind.BATCH_LATE: LazyText(
        "Line %(subject)s: letters that wait for their batch: %(count)s, since %(since)s"
    ),
    AlertKind.MAILBOX_LATE: LazyText(
        "Line %(subject)s: dunwell mail has not read its mailbox since %(since)s"
    ),
    AlertKind.UNMATCHED_REPORTS: LazyText(
        "Line %(subject)s: reports in a day that name nothing of ours: %(count)s"
    ),
    AlertKind.UNMATCHED_SMS: LazyText(
        "Line %(subject)s: texts in a day that no claim is certain of: %(count)s"
    ),
    AlertKind.UNKNOWN_SENDS: LazyText(
        "%(merchant)s: messages of which nobody knows whether they left: %(count)s, since %(since)s"
    ),
    AlertKind.OVERDUE_DISPUTES: LazyText(
        "%(merchant)s: objections overdue for an answer: %(count)s, since %(since)s"
    ),
    AlertKind.UNSEEN_REPLIES: LazyText(
        "%(merchant)s: answers of debtors that nobody has looked at: %(count)s, since %(since)s"
    ),
    AlertKind.WEBHOOKS_OFF: LazyText(
        "%(merchant)s: webhook endpoints switched off: %(count)s, since %(since)s"
    ),
    AlertKind.WEBHOOKS_FAILING: LazyText(
        "%(merchant)s: webhook endpoints that fail: %(count)s, since %(since)s"
    ),
    AlertKind.STEPS_LATE: LazyText(
        "Steps of processes are due since %(since)s and nobody works on them: does a worker run?"
    ),
    AlertKind.ARCHIVE_BEHIND: LazyText(
        "The archive of the database is behind; dunwell doctor says why"
    ),
    AlertKind.CLOCKS_APART: LazyText(
        "Two clocks differ: host %(subject)s said %(host_clock)s when the database said "
        "%(database_clock)s; beyond 30 seconds that host does nothing"
    ),
    AlertKind.BREAK_GLASS: LazyText("Somebody signed in by the way for emergencies, at %(began)s"),
    AlertKind.SECOND_FACTOR_LOCKED: LazyText(
        "Someone who knows a user's password entered ten wrong codes, at %(began)s"
    ),
}
_HEADS: Mapping[Phase, LazyText] = {
    Phase.BEGAN: LazyText("New"),
    Phase.LASTS: LazyText("Still so"),
    Phase.OVER: LazyText("Resolved"),
}


@dataclass(frozen=True, slots=True)
class Telling:
    alarm: Alarm
    phase: Phase


def write_mail(tellings: Sequence[Telling], alarms: Alarms, public_url: str) -> tuple[str, str]:
    """Subject and text."""
    language = find_staff_language(alarms.language)
    blocks = [
        f"{language.translate(_HEADS[phase])}:\n"
        + "\n".join(_write_line(each, language, public_url))
        for phase in Phase
        for each in [[t for t in tellings if t.phase is phase]]
        if each
    ]
    end = language.translate(
        "What lasts is told again after %(hours)s hours, and once more when it is over. "
        "Who is told stands in the installation file (alarms).",
        hours=alarms.again_after_hours,
    )
    blocks.append(end)
    return _write_subject(tellings, language), "\n\n".join(blocks) + "\n"


def _write_subject(tellings: Sequence[Telling], language: Language) -> str:
    news = [each for each in tellings if each.phase is not Phase.OVER]
    told = news or tellings
    translate, what = language.translate, describe(told[0].alarm, language)
    if len(told) > 1:
        what = translate("%(what)s, and %(more)s more", what=what, more=len(told) - 1)
    if news:
        return translate("Dunwell needs somebody: %(what)s", what=what)
    return translate("Dunwell: over: %(what)s", what=what)


def _write_line(tellings: Sequence[Telling], language: Language, public_url: str) -> list[str]:
    return [
        f"- {describe(each.alarm, language)}.\n  {public_url}{find_place(each.alarm)}"
        for each in tellings
    ]


def find_place(alarm: Alarm) -> str:
    """The path of the page where it is mended."""
    return PLACES.get(alarm.kind, _LINES).format(subject=alarm.subject)


def describe(alarm: Alarm, language: Language) -> str:
    figures = alarm.figures
    return language.translate(
        _DESCRIPTIONS[alarm.kind],
        subject=alarm.subject,
        merchant=figures.merchant,
        count=figures.count,
        among=figures.among,
        since=_render_at(figures.since, language),
        began=_render_at(alarm.began_at, language),
        host_clock=_render_clock(figures.host_clock),
        database_clock=_render_clock(figures.database_clock),
    )


def _render_clock(at: datetime | None) -> str:
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _render_at(at: datetime | None, language: Language) -> str:
    if at is None:
        return language.translate("the beginning")
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


# Enough to see what is wrong; a merchant with more has one cause, and a page that lists them all.
_MOST_NAMED = 20


def write_merchant_mail(
    endpoints: Sequence[ToldEndpoint], language: str, public_url: str
) -> tuple[str, str]:
    """Subject and text. endpoints: of one merchant, at least one; all of them fail, or all work
    again."""
    first, translate = endpoints[0], find_staff_language(language).translate
    origin, pages = find_origin(first.url), f"{public_url}/portal/m/{first.merchant_id}/webhooks"
    if first.since is not None:
        subject = translate("Failing webhooks: %(origin)s", origin=origin)
        intro = translate(
            "Dunwell cannot deliver events to the webhook endpoints below. They are kept and tried "
            "again for about three days. An endpoint that only fails for five days is switched off."
        )
    else:
        subject = translate("Webhooks work again: %(origin)s", origin=origin)
        intro = translate("These webhook endpoints accept events again. What waited is sent now.")
    blocks = [intro, *(_write_endpoint(each, translate, pages) for each in endpoints[:_MOST_NAMED])]
    left_out = len(endpoints) - _MOST_NAMED
    if left_out > 0:
        blocks.append(translate("And %(count)s more: %(address)s", count=left_out, address=pages))
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


def _write_endpoint(endpoint: ToldEndpoint, translate: Callable[..., str], pages: str) -> str:
    lines = [find_origin(endpoint.url)]
    if endpoint.since is not None:
        lines.append(translate("Failing since %(since)s", since=_render_instant(endpoint.since)))
    if endpoint.status is not None:
        lines.append(translate("Last response: HTTP status %(status)s", status=endpoint.status))
    elif endpoint.error is not None:
        error = endpoint.error
        lines.append(translate("No response at the last attempt (%(error)s)", error=error))
    address = f"{pages}/{endpoint.endpoint_id}"
    lines.append(translate("Details: %(address)s", address=address))
    return "\n".join(lines)


def _render_instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
