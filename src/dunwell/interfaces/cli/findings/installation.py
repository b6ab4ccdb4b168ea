"""Check alerts, proxies, single sign-on and the networks that webhooks may reach."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import asyncpg

from dunwell.accounts.installation.alerts.alert import AlertSettings
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.single_sign_on_settings import (
    IdentityProviderSettings,
    SignInSettings,
)
from dunwell.accounts.installation.store import (
    list_untrusted_proxies,
    load_installation,
    load_secrets,
)
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.users.single_sign_on.store import load_merchant_ids
from dunwell.accounts.users.store import count_break_glass
from dunwell.adapters.identity_providers import IdentityProviderUnusable, build_identity_provider
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.operations.alerts.alert_emails import describe_alert
from dunwell.operations.alerts.check_alerts import AlertOverview, load_alert_overview
from dunwell.operations.alerts.send_alert_emails import order_email_providers
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable
from dunwell.platform.http.addresses import Proxies
from dunwell.platform.text.translation import find_staff_language

_ALERTS = "alerts"
_MAX_REPORTED = 20


async def check_alerts(url: str) -> list[DoctorFinding]:
    """Check that alerts are active and have recipients. Return nothing if the database is not
    migrated or does not respond: other checks report that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            installation = (await load_installation(connection)).installation
            view = await load_alert_overview(connection, COMMAND_LINE, datetime.now(UTC))
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return [
        describe_alert_checks(view),
        describe_alert_recipients(installation),
        *list_active_alerts(view),
    ]


def describe_alert_checks(view: AlertOverview) -> DoctorFinding:
    if not view.is_stale:
        return DoctorFinding(_ALERTS, "a worker checks for alerts each minute")
    remedy = 'Check that a worker runs, and look for "round failed" in its log.'
    if view.last_checked_at is None:
        return DoctorFinding(_ALERTS, "alert checks have not run yet", remedy, is_note=True)
    words = f"alert checks have not run since {view.last_checked_at:%Y-%m-%d %H:%M} UTC"
    return DoctorFinding(_ALERTS, words, remedy)


def describe_alert_recipients(installation: Installation) -> DoctorFinding:
    settings = installation.alerts or AlertSettings()
    if not settings.email:
        remedy = "Add recipients to the installation file: alerts: {email: [ops@example.com]}"
        return DoctorFinding(_ALERTS, "no alert recipients are configured", remedy, is_note=True)
    providers = order_email_providers(settings, installation.delivery_providers or {}, ())
    if not providers:
        words = (
            f"cannot be sent to {len(settings.email)} addresses: there is no provider for e-mail"
        )
        return DoctorFinding(
            _ALERTS, words, "Add one to the installation file (deliveryProviders), and apply it."
        )
    return DoctorFinding(
        _ALERTS, f"sent to {len(settings.email)} addresses by the provider {providers[0]}"
    )


def list_active_alerts(view: AlertOverview) -> Sequence[DoctorFinding]:
    """Return a note for each active alert. An active alert is not a fault of the installation:
    the recipients of alerts deal with it."""
    return [
        DoctorFinding(
            _ALERTS,
            describe_alert(each, find_staff_language("en")),
            "See the portal: Delivery providers, Alerts.",
            is_note=True,
        )
        for each in view.active[:_MAX_REPORTED]
    ]


_PROXIES = "proxies"
# A proxy that was seen longer ago has been fixed or removed since.
_SEEN_WITHIN = timedelta(days=1)


async def check_proxies(url: str) -> DoctorFinding:
    """Compare the proxies that were seen with the installation file in force now."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            installation = (await load_installation(connection)).installation
            seen = await list_untrusted_proxies(connection, datetime.now(UTC) - _SEEN_WITHIN)
    except (Unavailable, asyncpg.PostgresError) as error:
        return DoctorFinding(_PROXIES, f"cannot be checked: {error}", "Run dunwell doctor again.")
    finally:
        await database.close()
    trusted = Proxies(installation.trusted_proxies or ())
    return describe_untrusted_proxies([each for each in seen if each not in trusted])


def describe_untrusted_proxies(untrusted: Sequence[str]) -> DoctorFinding:
    if not untrusted:
        return DoctorFinding(_PROXIES, "no untrusted proxy was seen")
    words = f"{', '.join(untrusted)} forwards requests and is not trusted"
    remedy = "If it is your proxy, add it to trustedProxies: [ADDRESS] and run: dunwell apply FILE"
    return DoctorFinding(_PROXIES, words, remedy)


_PROVIDER_REMEDY = 'Check "issuer" and "networks" of the provider in the installation file.'
_MAX_SKEW_SECONDS = 30


async def check_sign_in(url: str, settings: Settings) -> list[DoctorFinding]:
    """Check single sign-on. Return nothing if the database is not migrated or does not respond:
    other checks report that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            sign_in = (await load_installation(connection)).installation.sign_in or SignInSettings()
            secrets = await load_secrets(connection, KeyRing(settings.secret_key))
            keys = {key for rule in sign_in.groups for key in rule.merchants or ()}
            missing = keys - (await load_merchant_ids(connection, sorted(keys))).keys()
            break_glass_admins = await count_break_glass(connection)
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    findings = [await check_identity_provider(each, secrets) for each in sign_in.oidc]
    return [*findings, *check_sign_in_settings(sign_in, sorted(missing), break_glass_admins)]


async def check_identity_provider(
    provider: IdentityProviderSettings, secrets: Mapping[str, bytes]
) -> DoctorFinding:
    subject = f"sign-in {provider.name}"
    try:
        identity_provider = build_identity_provider(provider, secrets)
    except IdentityProviderUnusable as error:
        return DoctorFinding(subject, "cannot be used", str(error))
    try:
        problem, skew = await identity_provider.check(datetime.now(UTC))
    finally:
        await identity_provider.close()
    return describe_identity_provider(subject, problem, skew)


def describe_identity_provider(
    subject: str, problem: str | None, skew: float | None
) -> DoctorFinding:
    """Report whether the provider can be used. `skew` is the seconds by which the provider's clock
    is ahead of this host's, or None if it is unknown."""
    if problem is not None:
        return DoctorFinding(subject, f"sign-in does not work: {problem}", _PROVIDER_REMEDY)
    if skew is not None and abs(skew) > _MAX_SKEW_SECONDS:
        words = f"its clock differs by {skew:+.0f} s from this host's: its tokens are refused"
        return DoctorFinding(subject, words, "Synchronise the clocks of both hosts with NTP.")
    return DoctorFinding(subject, "responds with the configured issuer")


def check_sign_in_settings(
    sign_in: SignInSettings, missing: list[str], break_glass_admins: int
) -> list[DoctorFinding]:
    """Check the sign-in settings. `missing` are the keys in their groups that no merchant has.
    `break_glass_admins` is the number of admins with emergency access."""
    findings = []
    if sign_in.oidc and not sign_in.groups:
        remedy = 'Add groups to "signIn" in the installation file.'
        findings.append(
            DoctorFinding("sign-in", "no group has a role: no user can sign in", remedy)
        )
    if missing:
        words = f"groups name merchants that do not exist: {', '.join(missing[:10])}"
        remedy = "Correct the keys, or create the merchants."
        findings.append(DoctorFinding("sign-in", words, remedy, is_note=True))
    if sign_in.required and not break_glass_admins:
        words = "is required, and no user can sign in while the provider is unavailable"
        findings.append(DoctorFinding("sign-in", words, "Run: dunwell user create --break-glass"))
    return findings


_NETWORKS = "webhooks"


async def check_webhook_networks(url: str) -> list[DoctorFinding]:
    """Check that `webhookNetworks` names existing merchants. Return nothing if the database is not
    migrated or does not respond: other checks report that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            installation = (await load_installation(connection)).installation
            keys = [each.merchant for each in installation.webhook_networks or ()]
            unknown = [
                key for key in keys if await find_merchant_id_by_key(connection, key) is None
            ]
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return [describe_webhook_networks(keys, unknown)]


def describe_webhook_networks(keys: Sequence[str], unknown: Sequence[str]) -> DoctorFinding:
    """Report unknown keys in webhookNetworks. `keys` are all keys that it names, `unknown` those
    that no merchant has."""
    if not keys:
        return DoctorFinding(_NETWORKS, "no merchant has its own webhookNetworks")
    if not unknown:
        return DoctorFinding(_NETWORKS, "every merchant that webhookNetworks names exists")
    remedy = (
        "Correct the keys in the installation file and apply it, or apply the merchants' files. "
        "Until then, no webhook may reach these networks."
    )
    names = ", ".join(f'"{key}"' for key in unknown)
    return DoctorFinding(_NETWORKS, f"webhookNetworks names no existing merchant: {names}", remedy)
