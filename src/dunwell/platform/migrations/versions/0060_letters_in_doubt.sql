DROP INDEX CONCURRENTLY IF EXISTS letter_batch_items_doubted;
CREATE INDEX CONCURRENTLY letter_batch_items_doubted
    ON letter_batch_items (line, merchant_id, communication_id) WHERE doubt IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS letter_batch_items_failed;
CREATE INDEX CONCURRENTLY letter_batch_items_failed
    ON letter_batch_items (batch_id) WHERE status IN ('RETURNED', 'FAILED') AND batch_id IS NOT NULL;
