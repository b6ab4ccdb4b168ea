-- Without a transaction.
DROP INDEX CONCURRENTLY IF EXISTS debtor_sessions_previous;
CREATE INDEX CONCURRENTLY debtor_sessions_previous ON debtor_sessions (previous_hash);
DROP INDEX CONCURRENTLY IF EXISTS debtor_sessions_session;
CREATE INDEX CONCURRENTLY debtor_sessions_session ON debtor_sessions (merchant_id, session_id);
