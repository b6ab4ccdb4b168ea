-- By the installation file; none: it left by none, or has not left.
ALTER TABLE debtor_notices ADD COLUMN IF NOT EXISTS line text;
-- Who wrote to a number of late; the others cost nothing here.
DROP INDEX CONCURRENTLY IF EXISTS debtor_notices_by_sms;
CREATE INDEX CONCURRENTLY debtor_notices_by_sms ON debtor_notices (recipient, line)
    WHERE channel = 'SMS' AND line IS NOT NULL AND recipient IS NOT NULL;
