"""Check the accounts at payment providers: whether each provider responds and its key has every
permission that Dunwell needs. No money is moved."""

from collections.abc import Mapping, Sequence

import asyncpg

from dunwell.accounts.installation.apply_installation import describe_pending_work
from dunwell.accounts.installation.payment_providers import PaymentAccount
from dunwell.accounts.installation.store import (
    PendingAccountWork,
    list_merchants_by_account,
    list_pending_account_work,
    load_installation,
    load_secrets,
)
from dunwell.adapters.payment_providers import build_payment_provider
from dunwell.adapters.payments.api_client import PaymentProviderUnusable
from dunwell.adapters.payments.sandbox.provider import NAME as SANDBOX_PROVIDER
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.platform.clock import SystemClock
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_MISSING_REMEDY = (
    "Add the account to the installation file again, with its key, and run: dunwell apply FILE. "
    "Nothing is lost until then"
)
_REMEDY = (
    "Correct the key at the provider or in the installation file (docs/operator/payments.md), and "
    "run: dunwell apply FILE"
)


async def check_payment_providers(url: str, settings: Settings) -> list[DoctorFinding]:
    """Check all accounts at payment providers. Return nothing if the database is not migrated or
    does not respond: other checks report that."""
    keys = KeyRing(settings.secret_key)
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            accounts = (await load_installation(connection)).installation.payment_providers or {}
            secrets = await load_secrets(connection, keys)
            pending = await list_pending_account_work(connection)
            closed = [name for name, account in accounts.items() if account.closed]
            used = await list_merchants_by_account(connection, closed) if closed else {}
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    installed = {SANDBOX_PROVIDER, *accounts}
    by_name = {each.provider: each for each in pending}
    missing = [each for each in pending if each.provider not in installed]
    return [
        *(_build_missing_finding(each) for each in missing),
        *[
            finding
            for name, account in accounts.items()
            if not account.closed
            for finding in await check_payment_provider(name, account, secrets)
        ],
        *[
            await _check_closed_account(
                name,
                accounts[name],
                secrets,
                pending=by_name.get(name),
                merchants=used.get(name, ()),
            )
            for name in closed
        ],
    ]


def _build_missing_finding(pending: PendingAccountWork) -> DoctorFinding:
    problem = f"The account is not in the installation file. {describe_pending_work(pending)}"
    return DoctorFinding(f"payments {pending.provider}", problem.rstrip("."), _MISSING_REMEDY)


async def _check_closed_account(
    name: str, account: PaymentAccount, secrets: Mapping[str, bytes], *,
    pending: PendingAccountWork | None, merchants: Sequence[str],
) -> DoctorFinding:  # fmt: skip
    """Describe a closed account, whose key may have stopped working. `merchants` name it or have
    mandates there."""
    findings = await check_payment_provider(name, account, secrets)
    problems = [each for each in findings if each.is_fault]
    words = "the account is closed: debtors are not offered it"
    if problems:
        words += f". What it has received can no longer be read: {problems[0].words}"
    elif pending is not None:
        words += ", and what it has received is read"
    if pending is not None:
        words += f". {describe_pending_work(pending)}"
    if merchants:
        names = ", ".join(merchants)
        words = f"{words.rstrip('.')}. Merchants that still name it or have mandates there: {names}"
    remedy = (
        "Remove it from the installation file when nothing needs to be read from it, and run: "
        "dunwell apply FILE"
    )
    return DoctorFinding(f"payments {name}", words.rstrip("."), remedy, is_note=True)


async def check_payment_provider(
    name: str, account: PaymentAccount, secrets: Mapping[str, bytes]
) -> list[DoctorFinding]:
    """Return one finding for each problem, or one that says that there is none."""
    subject = f"payments {name}"
    try:
        provider = build_payment_provider(name, account, secrets, SystemClock())
    except PaymentProviderUnusable as error:
        return [DoctorFinding(subject, str(error), "Run: dunwell apply FILE")]
    try:
        problems = await provider.find_access_problems()
    finally:
        await provider.close()
    if problems:
        return [DoctorFinding(subject, each.rstrip("."), _REMEDY) for each in problems]
    words = "the provider responds, and the key has every permission"
    if not provider.moves_money:
        return [
            DoctorFinding(
                subject, f"{words}, but it is a test key that moves no money",
                "Debtors can pay with it in the development profile only. Use a live key.",
                is_note=True,
            )
        ]  # fmt: skip
    return [DoctorFinding(subject, words)]
