-- The addresses on file when a session was opened, as suppressions know them (keyed digests), so that
-- one statement finds what its page shows of both. Where one has changed since, it is asked for anew.
ALTER TABLE debtor_sessions ADD COLUMN address_digests bytea[] NOT NULL DEFAULT '{}';
