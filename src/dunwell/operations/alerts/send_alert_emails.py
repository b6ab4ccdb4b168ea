"""Sends the e-mails that tell operators of alarms and users of changes to how they sign in, by a
line of the installation.

Each is marked as handed over before the line is called. What it does not answer is not sent again:
an alarm that lasts is told anew after some hours.
"""

import asyncio
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import structlog

from dunwell.accounts.installation.alerts.alert import AlertKind, AlertSettings
from dunwell.accounts.installation.alerts.store import (
    DueAlertMail,
    lease_due_mails,
    list_active_alerts,
    save_mail_outcome,
)
from dunwell.accounts.installation.delivery_providers import DeliveryProvider
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.store import load_installation
from dunwell.contact.sending.adapters import FindProvider
from dunwell.contact.sending.channel import (
    Accepted,
    Message,
    Outcome,
    Permanent,
    ProviderAdapter,
    Temporary,
)
from dunwell.platform.resources import Resources


def order_email_providers(
    alarms: AlertSettings, lines: Mapping[str, DeliveryProvider], unwell: Collection[str]
) -> list[str]:
    """Lines for e-mail, the best first: those that are well before those that alarms are about, and
    of each the one the file names first."""
    mail = [name for name, line in lines.items() if line.channel == "EMAIL"]
    return sorted(mail, key=lambda name: (name in unwell, name != alarms.provider))


def choose_sender(installation: Installation, recipient: str) -> str:
    """The one the file names, else the operator's contact, else whoever is told."""
    alarms, operator = installation.alerts or AlertSettings(), installation.operator
    return alarms.sender or (operator.contact.email if operator else recipient)


EMAIL_SECONDS = 5.0
_CALL_SECONDS = 60
# Longer than a call, and than recording what it answered.
_ANSWERED_WITHIN = timedelta(minutes=3)
_FIRST_PAUSE = timedelta(minutes=1)
_LONGEST_PAUSE = timedelta(hours=1)
_MAX_ATTEMPTS = 24
_BATCH_SIZE = 20

log = structlog.get_logger(__name__)


async def send_alert_emails(resources: Resources, find_line: FindProvider) -> int:
    """How many were tried."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        installation = (await load_installation(tx)).installation
        standing = await list_active_alerts(tx)
        mails = await lease_due_mails(tx, now, now + _ANSWERED_WITHIN, _BATCH_SIZE)
    unwell = {each.subject for each in standing if each.kind in _PROVIDER_TROUBLE}
    wanted = order_email_providers(
        installation.alerts or AlertSettings(), installation.delivery_providers or {}, unwell
    )
    adapter = next((found for name in wanted if (found := find_line(name))), None)
    for mail in mails:
        outcome = await _send(adapter, mail, installation)
        await _record(resources, mail, outcome)
    return len(mails)


_PROVIDER_TROUBLE = frozenset(
    {AlertKind.LINE_UNUSABLE, AlertKind.LINE_FAILING, AlertKind.LINE_BACKLOG}
)


async def _send(
    adapter: ProviderAdapter | None, mail: DueAlertMail, installation: Installation
) -> Outcome | None:
    """None: nobody knows."""
    if adapter is None:
        log.error("no line tells alarms", email_id=str(mail.email_id))
        return Temporary(int(_FIRST_PAUSE.total_seconds()))
    message = Message(
        # Of no merchant: what comes back of it is shown as unmatched.
        communication_id=mail.email_id,
        merchant_id=0,
        claim_id=0,
        channel="EMAIL",
        recipient=mail.recipient,
        sender=choose_sender(installation, mail.recipient),
        sender_name="Dunwell",
        reply_to=None,
        language=mail.language,
        subject=mail.subject,
        body_text=mail.body,
        body_html=None,
        created_at=mail.created_at,
    )
    try:
        async with asyncio.timeout(_CALL_SECONDS):
            return await adapter.send(message)
    except Exception as error:  # it may have left, and that alone counts
        log.exception("alarm unanswered", email_id=str(mail.email_id), error=type(error).__name__)
        return None


async def _record(resources: Resources, mail: DueAlertMail, outcome: Outcome | None) -> None:
    now = resources.clock.now()
    state, again_at = _decide_state(mail, outcome, now)
    if state == "FAILED":
        log.error("alarm not sent", email_id=str(mail.email_id), attempts=mail.attempts)
    async with resources.database.transaction() as tx:
        await save_mail_outcome(tx, mail, state, again_at)


def _decide_state(
    mail: DueAlertMail, outcome: Outcome | None, now: datetime
) -> tuple[str, datetime | None]:
    match outcome:
        case Accepted():
            return "ACCEPTED", None
        case Permanent():
            return "FAILED", None
        case None:
            return "UNKNOWN", None
    if mail.attempts >= _MAX_ATTEMPTS:
        return "FAILED", None
    return "PLANNED", now + min(_FIRST_PAUSE * (1 << min(mail.attempts - 1, 10)), _LONGEST_PAUSE)
