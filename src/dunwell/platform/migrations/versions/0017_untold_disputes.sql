ALTER TABLE debtor_notices VALIDATE CONSTRAINT debtor_notices_kind_check;
DROP INDEX CONCURRENTLY IF EXISTS disputes_untold;
CREATE INDEX CONCURRENTLY disputes_untold ON disputes (merchant_id, dispute_id) WHERE is_untold;
