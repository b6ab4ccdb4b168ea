ALTER TABLE debtor_notices VALIDATE CONSTRAINT debtor_notices_kind_check;
ALTER TABLE debtor_notices VALIDATE CONSTRAINT debtor_notices_channel_check;
DROP INDEX CONCURRENTLY IF EXISTS disputes_list;
CREATE INDEX CONCURRENTLY disputes_list ON disputes (merchant_id, written_by, dispute_id);
DROP INDEX CONCURRENTLY IF EXISTS disputes_open_list;
CREATE INDEX CONCURRENTLY disputes_open_list ON disputes (merchant_id, written_by, dispute_id)
    WHERE state = 'OPEN';
DROP INDEX CONCURRENTLY IF EXISTS disputes_overdue;
CREATE INDEX CONCURRENTLY disputes_overdue ON disputes (merchant_id, opened_at)
    WHERE state = 'OPEN' AND overdue_told_at IS NULL;
