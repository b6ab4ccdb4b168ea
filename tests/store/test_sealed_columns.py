"""Every column that is encrypted with the secret key is in the table of key rotation."""

from dunwell.operations.keys.sealed_columns import SEALED_COLUMNS
from dunwell.platform.database.database import Database

# Hashes and digests are recognised by their names.
_BINARY = """
SELECT table_name || '.' || column_name AS name
FROM information_schema.columns
WHERE table_schema = 'public' AND (udt_name = 'bytea' OR udt_name = '_bytea')
    AND column_name !~ '(hash|digest|digests)$'
"""
_PRIMARY_KEY = """
SELECT array_agg(a.attname::text ORDER BY k.place)
FROM pg_constraint c
CROSS JOIN unnest(c.conkey) WITH ORDINALITY AS k (number, place)
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number
WHERE c.contype = 'p' AND c.conrelid = $1::text::regclass
"""
_NOT_SEALED = {
    "delivery_reports.raw", "communications.guarded_by", "disputes.stopped_identities",
    "authentication_factors.credential_id", "authentication_factors.public_key",
    "idempotency_keys.body",
    "key_versions.fingerprint", "letter_batches.manifest", "letter_status_files.sha256",
    "passkey_challenges.challenge", "portal_sessions.provider_session", "uploads.sha256",
}  # fmt: skip


async def test_each_binary_column_is_re_encrypted_or_known_not_to_be_encrypted(
    database: Database,
) -> None:
    async with database.connection() as connection:
        found = {row["name"] for row in await connection.fetch(_BINARY)}
    resealed = {f"{each.table}.{each.column}" for each in SEALED_COLUMNS}
    assert resealed == found - _NOT_SEALED
    assert found >= _NOT_SEALED


async def test_each_encrypted_column_is_found_by_its_tables_primary_key(database: Database) -> None:
    async with database.connection() as connection:
        for each in SEALED_COLUMNS:
            keys = await connection.fetchval(_PRIMARY_KEY, each.table)
            assert keys == [key.name for key in each.keys], each.table
