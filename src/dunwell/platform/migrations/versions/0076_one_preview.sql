-- A merchant has one place for a preview that waits or runs: of two that begin at once, the second
-- is not written. Other jobs have none, nor has a preview that an earlier version began.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS preview_place smallint;
ALTER TABLE jobs DROP CONSTRAINT IF EXISTS jobs_preview_place;
ALTER TABLE jobs ADD CONSTRAINT jobs_preview_place CHECK (preview_place = 1) NOT VALID;
DROP INDEX CONCURRENTLY IF EXISTS jobs_one_preview;
CREATE UNIQUE INDEX CONCURRENTLY jobs_one_preview ON jobs (merchant_id, preview_place)
    WHERE due_at IS NOT NULL;
