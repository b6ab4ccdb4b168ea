"""What `dunwell doctor` says of single sign-on: whether each provider answers as the one it is
named as, by the same time, and whether somebody can come in without it. Nobody is signed in.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

import asyncpg

from dunwell.accounts.installation.secrets import load_secrets
from dunwell.accounts.installation.single_sign_on_settings import Provider, SignIn
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.users.single_sign_on.store import find_merchants
from dunwell.accounts.users.store import count_break_glass
from dunwell.adapters.providers import ProviderUnusable, build_provider
from dunwell.interfaces.cli.findings.finding import Finding
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_REMEDY = 'Compare "issuer" and "networks" of the provider in the installation file.'
_MOST_SKEW_SECONDS = 30


async def check_sign_in(url: str, settings: Settings) -> list[Finding]:
    """None of a database that is not migrated, or that answers no statement: others tell that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            sign_in = (await load_installation(connection)).installation.sign_in or SignIn()
            secrets = await load_secrets(connection, KeyRing(settings.secret_key))
            keys = {key for rule in sign_in.groups for key in rule.merchants or ()}
            missing = keys - (await find_merchants(connection, sorted(keys))).keys()
            able = await count_break_glass(connection)
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    findings = [await check_provider(each, secrets) for each in sign_in.oidc]
    return [*findings, *check_file(sign_in, sorted(missing), able)]


async def check_provider(provider: Provider, secrets: Mapping[str, bytes]) -> Finding:
    subject = f"sign-in {provider.name}"
    try:
        made = build_provider(provider, secrets)
    except ProviderUnusable as error:
        return Finding(subject, "cannot be used", str(error))
    try:
        trouble, skew = await made.check(datetime.now(UTC))
    finally:
        await made.close()
    return judge_provider(subject, trouble, skew)


def judge_provider(subject: str, trouble: str | None, skew: float | None) -> Finding:
    """skew: seconds that its clock is ahead of this host's; none: it does not say."""
    if trouble is not None:
        return Finding(subject, f"no sign-in by it: {trouble}", _REMEDY)
    if skew is not None and abs(skew) > _MOST_SKEW_SECONDS:
        words = f"its clock is {skew:+.0f} s from this host's: what it says would be refused"
        return Finding(subject, words, "Let NTP set the clocks of both hosts.")
    return Finding(subject, "answers, as the issuer that it is named as")


def check_file(sign_in: SignIn, missing: list[str], able: int) -> list[Finding]:
    """missing: keys that groups name and no merchant has. able: break-glass admins."""
    findings = []
    if sign_in.oidc and not sign_in.groups:
        remedy = 'Name groups under "signIn" in the installation file.'
        findings.append(Finding("sign-in", "no group may do anything: nobody gets in", remedy))
    if missing:
        words = f"groups name merchants that are not there: {', '.join(missing[:10])}"
        remedy = "Correct the keys, or create the merchants."
        findings.append(Finding("sign-in", words, remedy, is_note=True))
    if sign_in.required and not able:
        words = "is required, and nobody could come in while the provider is away"
        findings.append(Finding("sign-in", words, "Run: dunwell user create --break-glass"))
    return findings
