"""What `dunwell doctor` says of alarms: whether anybody looks, whom it is told, and which stand."""

from collections.abc import Sequence
from datetime import UTC, datetime

import asyncpg

from dunwell.accounts.installation.alerts.alert_settings import Alarms
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.interfaces.cli.findings.finding import Finding
from dunwell.operations.alerts.look import AlarmsView, read_alarms
from dunwell.operations.alerts.mail_words import describe
from dunwell.operations.alerts.send_mails import choose_lines
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable
from dunwell.platform.text.translation import find_staff_language

_SUBJECT = "alarms"
_MOST_TOLD = 20


async def check_alarms(url: str) -> list[Finding]:
    """None of a database that is not migrated, or that answers no statement: others tell that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            installation = (await load_installation(connection)).installation
            view = await read_alarms(connection, COMMAND_LINE, datetime.now(UTC))
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return [judge_watch(view), judge_telling(installation), *judge_standing(view)]


def judge_watch(view: AlarmsView) -> Finding:
    if not view.is_stale:
        return Finding(_SUBJECT, "a worker looks for them each minute")
    remedy = 'See that a worker runs, and what its log says behind "round failed".'
    if view.looked_at is None:
        return Finding(_SUBJECT, "nobody has looked for any yet", remedy, is_note=True)
    words = f"nobody has looked for any since {view.looked_at:%Y-%m-%d %H:%M} UTC"
    return Finding(_SUBJECT, words, remedy)


def judge_telling(installation: Installation) -> Finding:
    alarms = installation.alarms or Alarms()
    if not alarms.email:
        remedy = "Name who in the installation file: alarms: {email: [ops@example.com]}"
        return Finding(_SUBJECT, "nobody is told of them by e-mail", remedy, is_note=True)
    lines = choose_lines(alarms, installation.lines or {}, ())
    if not lines:
        words = f"cannot be told to {len(alarms.email)} addresses: there is no line for e-mail"
        return Finding(_SUBJECT, words, "Add one to the installation file (lines), and apply it.")
    return Finding(_SUBJECT, f"told to {len(alarms.email)} addresses by the line {lines[0]}")


def judge_standing(view: AlarmsView) -> Sequence[Finding]:
    """Notes: what they are about is for whoever is told of it."""
    return [
        Finding(
            _SUBJECT,
            describe(each, find_staff_language("en")),
            "See the portal: Lines, Alarms.",
            is_note=True,
        )
        for each in view.standing[:_MOST_TOLD]
    ]
