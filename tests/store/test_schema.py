"""Rules that must always hold are constraints of the database."""

import re

from dunwell.core.claims.fields import FIELDS
from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import list_own_tables

_PRIMARY_KEYS = """
SELECT t.relname AS table_name, pg_get_constraintdef(c.oid) AS definition
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE c.contype = 'p' AND n.nspname = 'public'
"""

_TABLES = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"

_DEBTORS_COLUMNS = """
SELECT column_name::text FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = 'debtors'
"""


async def test_every_primary_key_begins_with_the_merchant(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(_PRIMARY_KEYS)
    keys = {row["table_name"]: re.sub(r"PRIMARY KEY \(|\)", "", row["definition"]) for row in rows}
    assert len(keys) >= 25
    # Tables without a merchant: failed attempts and requests for links, which name no merchant, and
    # tables of the installation and its users.
    assert {n for n, key in keys.items() if not key.startswith("merchant_id")} == {
        "schema_migrations",
        "link_request_counts", "letter_code_failures", "link_requests", "rate_limits",
        "installation_revisions",
        "installation_audit", "installation_seals",
        "key_versions", "epochs", "restores",
        "unconfigured_proxies", "delivery_reports", "inbound_sms", "installation_secrets",
        "provider_rate_limits", "closed_account_failures",
        "letter_batches", "letter_status_files", "letter_status_readers", "mailbox_positions",
        "alerts", "alert_notifications", "staff_emails", "alert_checks",
        "users", "authentication_factors", "recovery_codes", "portal_sessions", "pending_sign_ins",
        "passkey_challenges", "invitations", "interrupted_forms", "second_factor_failures",
        "user_identities", "single_sign_on_attempts",
        "provider_logouts",
    }  # fmt: skip


async def test_the_tables_of_backups_are_those_that_the_migrations_make(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(_TABLES)
    assert list_own_tables() == {row["tablename"] for row in rows}


async def test_each_field_of_a_debtor_has_its_column(database: Database) -> None:
    async with database.connection() as connection:
        columns = {row["column_name"] for row in await connection.fetch(_DEBTORS_COLUMNS)}
    missing = {each.name for each in FIELDS} - columns
    assert missing == set(), f"write a migration that adds these to debtors: {missing}"
