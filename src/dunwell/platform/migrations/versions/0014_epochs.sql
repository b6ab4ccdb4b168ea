-- From which number on this server's transactions are counted (decision 0016). A row says of a time
-- in which one server, on one timeline, wrote; the highest is the current one. Who writes or lists
-- reads this table, and so holds it until its transaction ends: a new epoch waits for all of them.
CREATE TABLE epochs (
    epoch bigint PRIMARY KEY CHECK (epoch >= 0),
    system_identifier bigint NOT NULL,
    timeline integer NOT NULL,
    began_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- For rows that do not say by which transaction they are written. Rows of before keep their number:
-- a default is asked for new ones only, and no table is rewritten.
CREATE FUNCTION current_written_by() RETURNS xid8 LANGUAGE sql VOLATILE
RETURN (coalesce((SELECT max(epoch) FROM epochs), 0)
        + pg_current_xact_id()::text::bigint)::text::xid8;

ALTER TABLE claims ALTER written_by SET DEFAULT current_written_by();
ALTER TABLE events ALTER written_by SET DEFAULT current_written_by();

-- Backups that were restored into this database. Until one is resumed the worker does nothing: what
-- was sent after the backup was taken is not known here, and would be sent again.
CREATE TABLE restores (
    restored_at timestamptz PRIMARY KEY DEFAULT clock_timestamp(),
    taken_at timestamptz NOT NULL,
    resumed_at timestamptz,
    lost_until timestamptz
);
