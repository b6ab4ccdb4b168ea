-- An e-mail's domain, the country of a number or of a postal address; none: it left by no line.
ALTER TABLE communications ADD COLUMN IF NOT EXISTS destination text;
-- What alarms look at; each holds what is wrong alone.
DROP INDEX CONCURRENTLY IF EXISTS disputes_overdue_told;
CREATE INDEX CONCURRENTLY disputes_overdue_told ON disputes (merchant_id, overdue_told_at)
    WHERE state = 'OPEN' AND overdue_told_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS webhook_endpoints_off;
CREATE INDEX CONCURRENTLY webhook_endpoints_off ON webhook_endpoints (merchant_id, disabled_at)
    WHERE disabled_at IS NOT NULL AND removed_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS inbound_sms_unmatched;
CREATE INDEX CONCURRENTLY inbound_sms_unmatched ON inbound_sms (received_at)
    WHERE kind = 'UNMATCHED';
