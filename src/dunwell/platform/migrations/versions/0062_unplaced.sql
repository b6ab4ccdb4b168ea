-- Real time, and the user who looked; both none: nobody has.
ALTER TABLE inbound_sms ADD COLUMN IF NOT EXISTS looked_at timestamptz,
    ADD COLUMN IF NOT EXISTS looked_by text;
ALTER TABLE channel_reports ADD COLUMN IF NOT EXISTS looked_at timestamptz,
    ADD COLUMN IF NOT EXISTS looked_by text;
-- Whether nobody but the channel, or our own mail server, can have written it.
ALTER TABLE channel_reports ADD COLUMN IF NOT EXISTS is_proven boolean NOT NULL DEFAULT true;
-- Those that wait for a person; the others cost nothing here. Ids begin with the instant.
DROP INDEX CONCURRENTLY IF EXISTS inbound_sms_unplaced;
CREATE INDEX CONCURRENTLY inbound_sms_unplaced ON inbound_sms (inbound_id)
    WHERE kind = 'UNMATCHED' AND looked_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS channel_reports_unplaced;
CREATE INDEX CONCURRENTLY channel_reports_unplaced ON channel_reports (report_id)
    WHERE outcome = 'UNMATCHED' AND looked_at IS NULL;
