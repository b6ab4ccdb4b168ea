DROP INDEX CONCURRENTLY IF EXISTS payments_list;
CREATE INDEX CONCURRENTLY payments_list ON payments (merchant_id, written_by, payment_id);
DROP INDEX CONCURRENTLY IF EXISTS payment_modalities_list;
CREATE INDEX CONCURRENTLY payment_modalities_list
    ON payment_modalities (merchant_id, written_by, modality_id);
DROP INDEX CONCURRENTLY IF EXISTS payment_modalities_requested;
CREATE INDEX CONCURRENTLY payment_modalities_requested
    ON payment_modalities (merchant_id, written_by, modality_id)
    WHERE state = 'REQUESTED' AND ended_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS payment_requests_list;
CREATE INDEX CONCURRENTLY payment_requests_list
    ON payment_requests (merchant_id, written_by, request_id);
DROP INDEX CONCURRENTLY IF EXISTS payment_requests_pending;
CREATE INDEX CONCURRENTLY payment_requests_pending
    ON payment_requests (merchant_id, written_by, request_id) WHERE state = 'PENDING';
DROP INDEX CONCURRENTLY IF EXISTS communications_list;
CREATE INDEX CONCURRENTLY communications_list
    ON communications (merchant_id, written_by, communication_id);
DROP INDEX CONCURRENTLY IF EXISTS communications_unknown_list;
CREATE INDEX CONCURRENTLY communications_unknown_list
    ON communications (merchant_id, written_by, communication_id) WHERE state = 'UNKNOWN';
DROP INDEX CONCURRENTLY IF EXISTS communications_failed_list;
CREATE INDEX CONCURRENTLY communications_failed_list
    ON communications (merchant_id, written_by, communication_id) WHERE state = 'FAILED';
DROP INDEX CONCURRENTLY IF EXISTS suppressions_list;
CREATE INDEX CONCURRENTLY suppressions_list
    ON suppressions (merchant_id, written_by, address_digest);
DROP INDEX CONCURRENTLY IF EXISTS claims_held;
CREATE INDEX CONCURRENTLY claims_held ON claims (merchant_id, written_by, claim_id) WHERE held;
DROP INDEX CONCURRENTLY IF EXISTS delivery_tries_by_time;
CREATE INDEX CONCURRENTLY delivery_tries_by_time ON delivery_tries (merchant_id, endpoint_id, at);
