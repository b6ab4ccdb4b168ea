-- When a failing webhook endpoint was last logged, and when its merchant was written to about it:
-- empty again once the merchant has been told that it works. Real time.
ALTER TABLE webhook_endpoints
    ADD COLUMN IF NOT EXISTS failure_logged_at timestamptz,
    ADD COLUMN IF NOT EXISTS failure_told_at timestamptz;
-- Each holds only the endpoints that fail, or whose merchant knows of a failure.
DROP INDEX CONCURRENTLY IF EXISTS webhook_endpoints_failing;
CREATE INDEX CONCURRENTLY webhook_endpoints_failing
    ON webhook_endpoints (merchant_id, endpoint_id)
    WHERE first_failure_at IS NOT NULL AND removed_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS webhook_endpoints_failure_told;
CREATE INDEX CONCURRENTLY webhook_endpoints_failure_told
    ON webhook_endpoints (merchant_id, endpoint_id)
    WHERE failure_told_at IS NOT NULL AND removed_at IS NULL;
