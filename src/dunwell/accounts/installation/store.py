"""The SQL of installation files, their encrypted secrets, and untrusted proxies that were seen."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
import structlog

from dunwell.accounts.installation.installation_file import Installation
from dunwell.platform.crypto import DecryptionFailed, KeyRing
from dunwell.platform.database.database import Connection

# Uses the primary key.
_LOAD = "SELECT revision, document FROM installation_revisions ORDER BY revision DESC LIMIT 1"
# Transactions that rely on the current file (`contact.sending.batches.store`) lock this row, too.
_LOCK = "SELECT FROM installation_revisions ORDER BY revision DESC LIMIT 1 FOR UPDATE"
# No row is returned if another file took this number in the meantime.
_SAVE = """
INSERT INTO installation_revisions (revision, document, applied_at, applied_by)
VALUES ($1, $2, $3, $4)
ON CONFLICT (revision) DO NOTHING
RETURNING revision
"""
# There are few rows, because only addresses in private networks are recorded, and at most a
# hundred.
_SAVE_UNTRUSTED_PROXIES = """
INSERT INTO unconfigured_proxies (address, seen_at)
SELECT address, $2 FROM unnest($1::text[]) AS given (address)
WHERE (SELECT count(*) FROM unconfigured_proxies) < 100
ON CONFLICT (address) DO UPDATE SET seen_at = EXCLUDED.seen_at
"""
_LIST_UNTRUSTED_PROXIES = """
SELECT address FROM unconfigured_proxies
WHERE seen_at >= $1 ORDER BY address
"""
# Reads all merchants, once per applied file.
_LIST_MERCHANTS_BY_PROVIDER = """
SELECT used.provider, array_agg(DISTINCT m.key ORDER BY m.key) AS keys
FROM merchants m
CROSS JOIN LATERAL jsonb_path_query(m.configuration::jsonb, '$.channels.*.provider')
    AS named (provider)
CROSS JOIN LATERAL (SELECT named.provider #>> '{}' AS provider) used
WHERE used.provider = ANY($1::text[])
GROUP BY used.provider
"""
# Reads all merchants, once per applied file that removes an account. Mandates that were given
# before a merchant chose another provider still need the account at which they were given.
_LIST_MERCHANTS_BY_ACCOUNT = """
SELECT used.account, array_agg(DISTINCT m.key ORDER BY m.key) AS keys
FROM merchants m
CROSS JOIN LATERAL (
    SELECT offered.provider #>> '{}' AS account
    FROM jsonb_path_query(m.configuration::jsonb, '$.payment.methods[*].provider')
        AS offered (provider)
    UNION ALL
    SELECT m.configuration::jsonb #>> '{payment,directDebitProvider}'
    UNION ALL
    SELECT p.provider
    FROM provider_mandates p
    WHERE p.merchant_id = m.merchant_id AND p.state <> 'ENDED'
) used
WHERE used.account = ANY($1::text[])
GROUP BY used.account
"""
# Uses payment_requests_due and payment_refunds_due, and reads all mandates at providers. The
# payments of an account are checked for refunds and chargebacks for months.
_LIST_PENDING_ACCOUNTS = """
SELECT provider, sum(checked)::integer AS checked, sum(refunds)::integer AS refunds,
       sum(mandates)::integer AS mandates, max(newest) AS newest
FROM (
    SELECT provider, count(*) AS checked, 0 AS refunds, 0 AS mandates, max(created_at) AS newest
    FROM payment_requests
    WHERE next_check_at IS NOT NULL
    GROUP BY provider
    UNION ALL
    SELECT provider, 0, count(*), 0, max(created_at)
    FROM payment_refunds
    WHERE next_attempt_at IS NOT NULL
    GROUP BY provider
    UNION ALL
    SELECT provider, 0, 0, count(*), max(created_at)
    FROM provider_mandates
    WHERE state <> 'ENDED'
    GROUP BY provider) pending
GROUP BY provider
ORDER BY provider
"""
# Reads all merchants, once per applied file that removes a connection.
_LIST_MERCHANTS_BY_BANK = """
SELECT used.bank, array_agg(m.key ORDER BY m.key) AS keys
FROM merchants m
CROSS JOIN LATERAL (
    SELECT m.configuration::jsonb #>> '{payment,directDebit,deliverTo}' AS bank) used
WHERE used.bank = ANY($1::text[])
GROUP BY used.bank
"""
# Uses letter_batch_items_waiting, letter_batch_items_open and letter_batches_open.
_LIST_PROVIDERS_WITH_LETTERS = """
SELECT provider FROM letter_batch_items WHERE state = 'WAITING' AND provider = ANY($1::text[])
UNION
SELECT provider FROM letter_batch_items
WHERE state IN ('UPLOADING', 'TAKING_BACK') AND provider = ANY($1::text[])
UNION
SELECT provider FROM letter_batches WHERE state <> 'RELEASED' AND provider = ANY($1::text[])
"""


class InstallationRevision(msgspec.Struct, frozen=True, gc=False):
    number: int
    installation: Installation


async def load_installation(connection: Connection) -> InstallationRevision:
    """Return the current file, or an empty one with the number 0 if none was applied."""
    row = await connection.fetchrow(_LOAD)
    if row is None:
        return InstallationRevision(0, Installation())
    return InstallationRevision(row["revision"], msgspec.convert(row["document"], Installation))


async def lock_installation(tx: Connection) -> InstallationRevision:
    """Wait until all transactions that rely on the current file have ended, lock the file until
    this transaction ends, and return it."""
    await tx.execute(_LOCK)
    return await load_installation(tx)


async def save_installation(
    tx: Connection, revision: InstallationRevision, *, applied_at: datetime, applied_by: str
) -> bool:
    """Insert the revision. Return False if its number is taken."""
    document = msgspec.to_builtins(revision.installation)
    kept = {name: value for name, value in document.items() if value is not None}
    saved = await tx.fetchval(_SAVE, revision.number, kept, applied_at, applied_by)
    return saved is not None


async def save_untrusted_proxies(
    tx: Connection, addresses: Sequence[str], seen_at: datetime
) -> None:
    """Record that these addresses forwarded requests without being trusted."""
    await tx.execute(_SAVE_UNTRUSTED_PROXIES, addresses, seen_at)


async def list_untrusted_proxies(connection: Connection, since: datetime) -> Sequence[str]:
    """Return the addresses of the untrusted proxies that were seen at `since` or later."""
    return [row["address"] for row in await connection.fetch(_LIST_UNTRUSTED_PROXIES, since)]


async def list_merchants_by_provider(
    connection: Connection, providers: Sequence[str]
) -> dict[str, list[str]]:
    """Return the keys of the merchants that use each delivery provider. Unused providers are left
    out."""
    rows = await connection.fetch(_LIST_MERCHANTS_BY_PROVIDER, list(providers))
    return {row["provider"]: row["keys"] for row in rows}


async def list_merchants_by_account(
    connection: Connection, accounts: Sequence[str]
) -> dict[str, list[str]]:
    """Return the keys of the merchants that are paid through each account at a payment provider.
    Unused accounts are left out."""
    rows = await connection.fetch(_LIST_MERCHANTS_BY_ACCOUNT, list(accounts))
    return {row["account"]: row["keys"] for row in rows}


class PendingAccountWork(msgspec.Struct, frozen=True, gc=False):
    """What an account at a payment provider is still needed for."""

    provider: str
    # Payments that are checked: open ones, and those that can still be charged back.
    checked: int
    # Refunds that are not sent yet.
    refunds: int
    # Mandates that are open, active, or still to be cancelled at the provider.
    mandates: int
    # When the newest of these payments, refunds and mandates was created.
    newest: datetime


async def list_pending_account_work(connection: Connection) -> Sequence[PendingAccountWork]:
    """Return what each account at a payment provider is still needed for. Accounts that are not
    needed are left out."""
    rows = await connection.fetch(_LIST_PENDING_ACCOUNTS)
    return [PendingAccountWork(*row) for row in rows]


async def list_merchants_by_bank(
    connection: Connection, banks: Sequence[str]
) -> dict[str, list[str]]:
    """Return the keys of the merchants whose direct debits are delivered by each connection to a
    bank. Unused connections are left out."""
    rows = await connection.fetch(_LIST_MERCHANTS_BY_BANK, list(banks))
    return {row["bank"]: row["keys"] for row in rows}


async def list_providers_with_letters(
    connection: Connection, providers: Sequence[str]
) -> Sequence[str]:
    """Return those of the named providers whose letters are not all released to the print
    service yet."""
    return [
        row["provider"]
        for row in await connection.fetch(_LIST_PROVIDERS_WITH_LETTERS, list(providers))
    ]


PURPOSE = "installation.secret"
_LOAD_SECRETS = "SELECT name, sealed FROM installation_secrets ORDER BY name"
_SAVE_SECRETS = """
INSERT INTO installation_secrets (name, sealed, set_at)
SELECT name, sealed, $3 FROM unnest($1::text[], $2::bytea[]) AS given (name, sealed)
ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, set_at = excluded.set_at
"""
_DELETE_OTHER_SECRETS = "DELETE FROM installation_secrets WHERE NOT name = ANY($1::text[])"

log = structlog.get_logger(__name__)


async def load_secrets(connection: Connection, keys: KeyRing) -> dict[str, bytes]:
    """Return the decrypted secrets by name. A secret that cannot be decrypted is left out and
    logged; its provider cannot be used."""
    found = {}
    for name, sealed in await connection.fetch(_LOAD_SECRETS):
        try:
            found[name] = keys.open(PURPOSE, sealed, name)
        except DecryptionFailed:
            log.exception("value cannot be decrypted", secret_name=name)
    return found


async def save_secrets(
    tx: Connection, keys: KeyRing, secrets: Mapping[str, bytes], set_at: datetime
) -> None:
    sealed = [keys.seal(PURPOSE, plain, name) for name, plain in secrets.items()]
    await tx.execute(_SAVE_SECRETS, list(secrets), sealed, set_at)


async def delete_other_secrets(tx: Connection, names: list[str]) -> None:
    """Delete all secrets except those with these names."""
    await tx.execute(_DELETE_OTHER_SECRETS, names)
