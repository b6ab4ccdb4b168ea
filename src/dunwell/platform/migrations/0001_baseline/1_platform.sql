-- Tables of the platform: the schema's version, the order of transactions, versions of the secret
-- key, rate limits.
--
-- Rules for all tables, in this file and the next ones:
--   * The primary key of a merchant's table begins with merchant_id, and every foreign key to such
--     a table carries it, so that a row of one merchant cannot refer to a row of another.
--   * Money is bigint in the smallest unit of its currency. Instants are timestamptz. Days are
--     dates in the merchant's time zone.
--   * Most instants of a claim are the merchant's time, which a sandbox merchant moves. Leases,
--     sessions, limits and deliveries use real time; their columns or tables say so.
--   * Unless a constraint names the values of a column, the code that writes it defines them.
--   * A column ending in _digest holds a keyed digest, made with the secret key; a column ending in
--     _hash holds a plain hash of a random secret. key_version says which version of the key was
--     used.
--   * "actor_kind" and "actor_id" say who acted, in the words of the audit log.

-- The migrations that ran in this database; the highest revision is its schema. Written by
-- `dunwell migrate`, and no part of a backup.
CREATE TABLE schema_migrations (
    -- The number and the name of the migration's file.
    revision text PRIMARY KEY,
    name text NOT NULL,
    ran_at timestamptz NOT NULL DEFAULT now()
);

-- The start of each period in which one server wrote on one timeline (decision 0016). The row with
-- the highest epoch is the current one; its epoch is added to the server's transaction ids. Whoever
-- writes or lists reads this table and so locks it until the transaction ends: a new epoch waits
-- for all of them.
CREATE TABLE epochs (
    epoch bigint PRIMARY KEY CHECK (epoch >= 0),
    system_identifier bigint NOT NULL,
    timeline integer NOT NULL,
    began_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The number of the current transaction, counted over all epochs. It is the default of every column
-- "written_by". Lists are in that order and hide rows that are not older than every running
-- transaction, so that no row appears behind a cursor that was handed out (decision 0003).
CREATE FUNCTION current_written_by() RETURNS xid8 LANGUAGE sql VOLATILE
RETURN (coalesce((SELECT max(epoch) FROM epochs), 0)
        + pg_current_xact_id()::text::bigint)::text::xid8;

-- Every version of the secret key that was ever used here, by a fingerprint that reveals nothing
-- about it. The keys themselves are never stored. A number is never given to a second key.
CREATE TABLE key_versions (
    version smallint PRIMARY KEY CHECK (version > 0),
    fingerprint bytea NOT NULL UNIQUE,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    -- Set when no row uses this version any more: the key may be removed from the settings.
    retired_at timestamptz
);

-- How often something rate-limited was attempted: wrong client secrets and wrong letter codes by
-- visitor, and openings of a link. A subject belongs to no merchant and is a keyed digest. It is
-- counted under its lock, in real time, and deleted when it no longer counts.
CREATE TABLE rate_limits (
    subject_digest bytea PRIMARY KEY,
    count integer NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL
);
-- For deleting old rows.
CREATE INDEX rate_limits_last ON rate_limits (last_at);
