-- Without a transaction.
-- Checks and refunds are done account by account. Payments that were reversed before 0002 get what
-- it added.
SET lock_timeout = '4s';

-- How often the order was sent without an answer.
ALTER TABLE payment_refunds ADD COLUMN IF NOT EXISTS attempts integer NOT NULL DEFAULT 0;

-- FAILED: the money came back to the merchant. NOT_BOOKED: the provider has refunded it in another
-- currency, and staff has to look at it.
ALTER TABLE payment_refunds
    DROP CONSTRAINT IF EXISTS payment_refunds_state_check,
    ADD CONSTRAINT payment_refunds_state_check CHECK (state IN
        ('CREATED', 'ACCEPTED', 'BOOKED', 'REFUSED', 'FAILED', 'NOT_BOOKED')) NOT VALID;

-- The money of a refund came back to the merchant.
ALTER TABLE payment_movements
    DROP CONSTRAINT IF EXISTS payment_movements_review_reason_check,
    ADD CONSTRAINT payment_movements_review_reason_check CHECK (review_reason IN
        ('OTHER_CURRENCY', 'OTHER_AMOUNT', 'NOTHING_TO_RETURN', 'REFUND_FAILED', 'CLAIM_ENDED'))
        NOT VALID;

-- Real time at which a refund of the payment was last accepted or listed by the provider. It may
-- fail in the days after that.
ALTER TABLE payment_requests ADD COLUMN IF NOT EXISTS refunded_at timestamptz;

RESET lock_timeout;

-- Requests and refunds that are due, by the account that is called. They replace indexes that begin
-- with the merchant.
DROP INDEX CONCURRENTLY IF EXISTS payment_requests_due;
CREATE INDEX CONCURRENTLY payment_requests_due ON payment_requests (provider, next_check_at)
    WHERE next_check_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS payment_refunds_due;
CREATE INDEX CONCURRENTLY payment_refunds_due ON payment_refunds (provider, next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS payment_requests_check;
DROP INDEX CONCURRENTLY IF EXISTS payment_refunds_attempt;

-- Reads the payments once without blocking anybody, and changes the few that were reversed before
-- 0002: all of the money was returned, and the statement of account lists it.
WITH filled AS (
    UPDATE payments
    SET returned_cents = amount_cents
    WHERE reversed_at IS NOT NULL AND returned_cents = 0
    RETURNING merchant_id, payment_id, claim_id, request_id, amount_cents, currency, reversed_at
)
INSERT INTO payment_movements
    (merchant_id, record_id, provider, movement_id, kind, claim_id, request_id, payment_id,
     amount_cents, currency, booked_cents, moved_at, recorded_at)
SELECT merchant_id, gen_random_uuid(), '', gen_random_uuid()::text, 'REVERSED', claim_id,
       request_id, payment_id, amount_cents, currency, amount_cents, reversed_at, reversed_at
FROM filled;
