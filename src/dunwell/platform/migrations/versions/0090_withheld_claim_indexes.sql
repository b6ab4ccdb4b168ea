ALTER TABLE disputes VALIDATE CONSTRAINT disputes_reason_check;
ALTER TABLE suppressions VALIDATE CONSTRAINT suppressions_reason_check;
-- An identity's digest differs by merchant too.
DROP INDEX CONCURRENTLY IF EXISTS disputes_stopped;
CREATE INDEX CONCURRENTLY disputes_stopped ON disputes USING gin (stopped_identities)
    WHERE released_at IS NULL AND stopped_identities IS NOT NULL;
-- Whether another dispute still needs the suppressed address.
DROP INDEX CONCURRENTLY IF EXISTS disputes_suppressed;
CREATE INDEX CONCURRENTLY disputes_suppressed ON disputes USING gin (suppressed_digests)
    WHERE released_at IS NULL AND suppressed_digests IS NOT NULL;
