DROP INDEX CONCURRENTLY IF EXISTS claims_due_anywhere;
CREATE INDEX CONCURRENTLY claims_due_anywhere ON claims (due_at)
    WHERE due_at IS NOT NULL AND NOT held;
DROP INDEX CONCURRENTLY IF EXISTS communications_planned_anywhere;
CREATE INDEX CONCURRENTLY communications_planned_anywhere
    ON communications (not_before) WHERE state IN ('PLANNED', 'ATTACHMENT_MISSING');
DROP INDEX CONCURRENTLY IF EXISTS communications_handed_over_anywhere;
CREATE INDEX CONCURRENTLY communications_handed_over_anywhere
    ON communications (lease_until) WHERE state = 'HANDED_OVER';
DROP INDEX CONCURRENTLY IF EXISTS holds_end_anywhere;
CREATE INDEX CONCURRENTLY holds_end_anywhere ON holds (until)
    WHERE lifted_at IS NULL AND until IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS merchants_sandbox;
CREATE INDEX CONCURRENTLY merchants_sandbox ON merchants (merchant_id) WHERE sandbox;
