"""Send e-mails about alerts to operators, and about changes of their sign-in to users.

An e-mail is marked as handed over before the delivery provider is called. If the provider does not
answer, the e-mail is not sent again. An alert that lasts is reported again after some hours.
"""

import asyncio
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import structlog

from dunwell.accounts.installation.alerts.alert import AlertKind, AlertSettings
from dunwell.accounts.installation.alerts.store import (
    DueStaffEmail,
    lease_staff_emails,
    list_active_alerts,
    save_staff_email_outcome,
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
    settings: AlertSettings, providers: Mapping[str, DeliveryProvider], with_alerts: Collection[str]
) -> list[str]:
    """Return the delivery providers for e-mail in the order in which to try them: providers without
    an alert first, and the one named in the installation file before the others."""
    mail = [name for name, provider in providers.items() if provider.channel == "EMAIL"]
    return sorted(mail, key=lambda name: (name in with_alerts, name != settings.provider))


def choose_sender(installation: Installation, recipient: str) -> str:
    """Return the sender named in the installation file, else the operator's contact, else the
    recipient."""
    settings, operator = installation.alerts or AlertSettings(), installation.operator
    return settings.sender or (operator.contact.email if operator else recipient)


EMAIL_IDLE_SECONDS = 5.0
_CALL_TIMEOUT_SECONDS = 60
# Must be longer than calling the provider and recording the outcome take together.
_LEASE = timedelta(minutes=3)
_FIRST_PAUSE = timedelta(minutes=1)
_MAX_PAUSE = timedelta(hours=1)
_MAX_ATTEMPTS = 24
# The most e-mails that are sent before the loop does anything else.
_MAX_PER_ROUND = 20

log = structlog.get_logger(__name__)


async def send_alert_emails(resources: Resources, find_provider: FindProvider) -> int:
    """Send up to `_MAX_PER_ROUND` e-mails that are due. Return the number of attempts.

    Each e-mail is leased only when its turn has come. Otherwise a slow provider would let the
    leases of the others expire, and they would never be sent.
    """
    async with resources.database.transaction() as tx:
        installation = (await load_installation(tx)).installation
        active = await list_active_alerts(tx)
    with_alerts = {each.subject for each in active if each.kind in _PROVIDER_ALERTS}
    provider_names = order_email_providers(
        installation.alerts or AlertSettings(), installation.delivery_providers or {}, with_alerts
    )
    adapter = next((found for name in provider_names if (found := find_provider(name))), None)
    for attempts in range(_MAX_PER_ROUND):
        mail = await _lease_next(resources)
        if mail is None:
            return attempts
        outcome = await _send(adapter, mail, installation)
        await _record_outcome(resources, mail, outcome)
    return _MAX_PER_ROUND


async def _lease_next(resources: Resources) -> DueStaffEmail | None:
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        mails = await lease_staff_emails(tx, now, now + _LEASE, limit=1)
    return mails[0] if mails else None


_PROVIDER_ALERTS = frozenset(
    {AlertKind.PROVIDER_UNUSABLE, AlertKind.PROVIDER_FAILING, AlertKind.PROVIDER_BACKLOG}
)


async def _send(
    adapter: ProviderAdapter | None, mail: DueStaffEmail, installation: Installation
) -> Outcome | None:
    """Send the e-mail. Return None if the outcome is unknown."""
    if adapter is None:
        log.error("no delivery provider for alert email", email_id=str(mail.email_id))
        return Temporary(int(_FIRST_PAUSE.total_seconds()))
    message = Message(
        # The message belongs to no merchant, so delivery reports for it are shown as unmatched.
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
        async with asyncio.timeout(_CALL_TIMEOUT_SECONDS):
            return await adapter.send(message)
    # The message may have been sent, so the outcome is unknown whatever the error was.
    except Exception as error:
        log.exception(
            "alert email outcome unknown", email_id=str(mail.email_id), error=type(error).__name__
        )
        return None


async def _record_outcome(
    resources: Resources, mail: DueStaffEmail, outcome: Outcome | None
) -> None:
    now = resources.clock.now()
    state, again_at = _decide_state(mail, outcome, now)
    if state == "FAILED":
        log.error("alert email not sent", email_id=str(mail.email_id), attempts=mail.attempts)
    async with resources.database.transaction() as tx:
        await save_staff_email_outcome(tx, mail, state, again_at)


def _decide_state(
    mail: DueStaffEmail, outcome: Outcome | None, now: datetime
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
    return "PLANNED", now + min(_FIRST_PAUSE * (1 << min(mail.attempts - 1, 10)), _MAX_PAUSE)
