-- A merchant's jobs that wait or run have a place each, of ten: of two that begin at once, only one
-- has the last. One that an earlier version began has none.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS live_place smallint;
ALTER TABLE jobs DROP CONSTRAINT IF EXISTS jobs_live_place;
ALTER TABLE jobs ADD CONSTRAINT jobs_live_place CHECK (live_place BETWEEN 1 AND 10) NOT VALID;
DROP INDEX CONCURRENTLY IF EXISTS jobs_live;
CREATE UNIQUE INDEX CONCURRENTLY jobs_live ON jobs (merchant_id, live_place)
    WHERE due_at IS NOT NULL;
