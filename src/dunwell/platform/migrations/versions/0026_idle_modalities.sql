DROP INDEX CONCURRENTLY IF EXISTS payment_modalities_check_anywhere;
CREATE INDEX CONCURRENTLY payment_modalities_check_anywhere ON payment_modalities (check_at)
    WHERE check_at IS NOT NULL AND ended_at IS NULL;
