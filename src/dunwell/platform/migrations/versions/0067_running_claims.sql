DROP INDEX CONCURRENTLY IF EXISTS claims_running;
CREATE INDEX CONCURRENTLY claims_running ON claims (merchant_id, workflow_id, workflow_major)
    WHERE status IN ('CREATED', 'IN_PROCESS') AND workflow_id IS NOT NULL;
