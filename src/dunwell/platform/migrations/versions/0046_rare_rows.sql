-- Disputes that have ended, by how; a new one is open, and pays nothing for it.
DROP INDEX CONCURRENTLY IF EXISTS disputes_by_state;
CREATE INDEX CONCURRENTLY disputes_by_state
    ON disputes (merchant_id, state, written_by, dispute_id) WHERE state <> 'OPEN';
-- Messages that failed of late: the start page counts them.
DROP INDEX CONCURRENTLY IF EXISTS communications_failed_settled;
CREATE INDEX CONCURRENTLY communications_failed_settled
    ON communications (merchant_id, settled_at) WHERE state = 'FAILED';
