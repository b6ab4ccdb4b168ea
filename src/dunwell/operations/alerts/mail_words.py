"""The e-mail that tells of alarms: what it is, since when, and where it is mended. It names lines,
domains and merchants, and never a debtor or a user. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dunwell.accounts.installation.alarms.alarm import Alarm, Kind, Phase
from dunwell.accounts.installation.alarms.setup import Alarms

# Where in the portal it is looked at and mended.
PLACES: Mapping[Kind, str] = {
    Kind.UNKNOWN_SENDS: "/portal/m/{subject}/messages?state=UNKNOWN",
    Kind.OVERDUE_DISPUTES: "/portal/m/{subject}/disputes",
    Kind.UNSEEN_REPLIES: "/portal/m/{subject}/replies",
    Kind.WEBHOOKS_OFF: "/portal/m/{subject}/webhooks",
    Kind.WEBHOOKS_FAILING: "/portal/m/{subject}/webhooks",
    Kind.UNMATCHED_SMS: "/portal/lines/unplaced",
    Kind.UNMATCHED_REPORTS: "/portal/lines/unplaced?of=reports",
    Kind.BREAK_GLASS: "/portal/people/audit",
    Kind.SECOND_FACTOR_LOCKED: "/portal/people/audit",
}
_LINES = "/portal/lines"

_WORDS: Mapping[str, Mapping[Kind, str]] = {
    "en": {
        Kind.LINE_UNUSABLE: "Line {subject} cannot be used as it stands; dunwell doctor says why",
        Kind.LINE_FAILING: "Line {subject}: of {among} messages in a day {count} failed",
        Kind.DESTINATION_FAILING: "{subject}: of {among} messages in a day {count} failed there",
        Kind.LINE_BACKLOG: "Line {subject}: messages that wait to leave: {count}, since {since}",
        Kind.BATCH_LATE: (
            "Line {subject}: letters that wait for their batch: {count}, since {since}"
        ),
        Kind.MAILBOX_LATE: "Line {subject}: dunwell mail has not read its mailbox since {since}",
        Kind.UNMATCHED_REPORTS: (
            "Line {subject}: reports in a day that name nothing of ours: {count}"
        ),
        Kind.UNMATCHED_SMS: "Line {subject}: texts in a day that no claim is certain of: {count}",
        Kind.UNKNOWN_SENDS: (
            "{merchant}: messages of which nobody knows whether they left: {count}, since {since}"
        ),
        Kind.OVERDUE_DISPUTES: (
            "{merchant}: objections overdue for an answer: {count}, since {since}"
        ),
        Kind.UNSEEN_REPLIES: (
            "{merchant}: answers of debtors that nobody has looked at: {count}, since {since}"
        ),
        Kind.WEBHOOKS_OFF: "{merchant}: webhook endpoints switched off: {count}, since {since}",
        Kind.WEBHOOKS_FAILING: "{merchant}: webhook endpoints that fail: {count}, since {since}",
        Kind.STEPS_LATE: (
            "Steps of processes are due since {since} and nobody works on them: does a worker run?"
        ),
        Kind.ARCHIVE_BEHIND: "The archive of the database is behind; dunwell doctor says why",
        Kind.CLOCKS_APART: (
            "Two clocks differ: host {subject} said {host_clock} when the database said "
            "{database_clock}; beyond 30 seconds that host does nothing"
        ),
        Kind.BREAK_GLASS: "Somebody signed in by the way for emergencies, at {began}",
        Kind.SECOND_FACTOR_LOCKED: (
            "Someone who knows a user's password entered ten wrong codes, at {began}"
        ),
    },
    "de": {
        Kind.LINE_UNUSABLE: (
            "Leitung {subject} ist so nicht zu benutzen; warum, sagt dunwell doctor"
        ),
        Kind.LINE_FAILING: (
            "Leitung {subject}: von {among} Nachrichten an einem Tag gescheitert: {count}"
        ),
        Kind.DESTINATION_FAILING: (
            "{subject}: von {among} Nachrichten an einem Tag dort gescheitert: {count}"
        ),
        Kind.LINE_BACKLOG: (
            "Leitung {subject}: Nachrichten, die auf den Versand warten: {count}, seit {since}"
        ),
        Kind.BATCH_LATE: (
            "Leitung {subject}: Briefe, die auf ihre Sendung warten: {count}, seit {since}"
        ),
        Kind.MAILBOX_LATE: (
            "Leitung {subject}: dunwell mail hat ihr Postfach nicht gelesen seit {since}"
        ),
        Kind.UNMATCHED_REPORTS: (
            "Leitung {subject}: Meldungen eines Tages zu nichts von uns: {count}"
        ),
        Kind.UNMATCHED_SMS: (
            "Leitung {subject}: SMS eines Tages, die sicher zu keiner Forderung gehören: {count}"
        ),
        Kind.UNKNOWN_SENDS: (
            "{merchant}: Nachrichten, von denen niemand weiß, ob sie hinausgingen: {count}, "
            "seit {since}"
        ),
        Kind.OVERDUE_DISPUTES: (
            "{merchant}: Einwände, deren Antwort überfällig ist: {count}, seit {since}"
        ),
        Kind.UNSEEN_REPLIES: (
            "{merchant}: Antworten von Schuldnern, die niemand angesehen hat: {count}, seit {since}"
        ),
        Kind.WEBHOOKS_OFF: "{merchant}: abgeschaltete Webhook-Endpunkte: {count}, seit {since}",
        Kind.WEBHOOKS_FAILING: "{merchant}: gestörte Webhook-Endpunkte: {count}, seit {since}",
        Kind.STEPS_LATE: (
            "Schritte von Prozessen sind seit {since} fällig, und niemand "
            "arbeitet daran: läuft ein "
            "Worker?"
        ),
        Kind.ARCHIVE_BEHIND: "Das Archiv der Datenbank hängt zurück; warum, sagt dunwell doctor",
        Kind.CLOCKS_APART: (
            "Zwei Uhren gehen verschieden: auf Rechner {subject} war es {host_clock}, als es in "
            "der Datenbank {database_clock} war; ab 30 Sekunden tut dieser Rechner nichts"
        ),
        Kind.BREAK_GLASS: "Jemand hat sich auf dem Weg für Notfälle angemeldet, um {began}",
        Kind.SECOND_FACTOR_LOCKED: (
            "Jemand, der das Passwort eines Benutzers kennt, hat zehn falsche Codes eingegeben, "
            "um {began}"
        ),
    },
}
_HEADS: Mapping[str, Mapping[Phase, str]] = {
    "en": {Phase.BEGAN: "New", Phase.LASTS: "Still so", Phase.OVER: "Over"},
    "de": {Phase.BEGAN: "Neu", Phase.LASTS: "Noch immer", Phase.OVER: "Vorbei"},
}
_SUBJECTS: Mapping[str, tuple[str, str]] = {
    "en": ("Dunwell needs somebody: {what}", "Dunwell: over: {what}"),
    "de": ("Dunwell braucht jemanden: {what}", "Dunwell: vorbei: {what}"),
}
_MORE = {"en": "{what}, and {more} more", "de": "{what}, und {more} mehr"}
_ENDS = {
    "en": "What lasts is told again after {hours} hours, and once more when it is over. "
    "Who is told stands in the installation file (alarms).",
    "de": "Was anhält, wird nach {hours} Stunden wieder gemeldet, und noch einmal, wenn es vorbei "
    "ist. Wer davon erfährt, steht in der Datei der Installation (alarms).",
}
_SINCE = {"en": "the beginning", "de": "Beginn"}


@dataclass(frozen=True, slots=True)
class Telling:
    alarm: Alarm
    phase: Phase


def write_mail(tellings: Sequence[Telling], alarms: Alarms, public_url: str) -> tuple[str, str]:
    """Subject and text."""
    language = alarms.language
    blocks = [
        f"{_HEADS[language][phase]}:\n" + "\n".join(_write_line(each, language, public_url))
        for phase in Phase
        for each in [[t for t in tellings if t.phase is phase]]
        if each
    ]
    blocks.append(_ENDS[language].format(hours=alarms.again_after_hours))
    return _write_subject(tellings, language), "\n\n".join(blocks) + "\n"


def _write_subject(tellings: Sequence[Telling], language: str) -> str:
    news = [each for each in tellings if each.phase is not Phase.OVER]
    told = news or tellings
    what = describe(told[0].alarm, language)
    if len(told) > 1:
        what = _MORE[language].format(what=what, more=len(told) - 1)
    bad, well = _SUBJECTS[language]
    return (bad if news else well).format(what=what)


def _write_line(tellings: Sequence[Telling], language: str, public_url: str) -> list[str]:
    return [
        f"- {describe(each.alarm, language)}.\n  {public_url}{find_place(each.alarm)}"
        for each in tellings
    ]


def find_place(alarm: Alarm) -> str:
    """The path of the page where it is mended."""
    return PLACES.get(alarm.kind, _LINES).format(subject=alarm.subject)


def describe(alarm: Alarm, language: str) -> str:
    figures = alarm.figures
    return _WORDS[language][alarm.kind].format(
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


def _render_at(at: datetime | None, language: str) -> str:
    if at is None:
        return _SINCE[language]
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
