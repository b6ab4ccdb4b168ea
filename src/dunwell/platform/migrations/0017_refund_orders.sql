-- Without a transaction.
-- The refunds of a payment are sent one after the other, and staff looks at those that were refused
-- or take too long.
SET lock_timeout = '4s';

-- Why the refund is not made, what the provider said, and when staff has looked at it. Refunds that
-- were refused before have no reason.
ALTER TABLE payment_refunds
    ADD COLUMN IF NOT EXISTS refusal text,
    ADD COLUMN IF NOT EXISTS refusal_text text,
    ADD COLUMN IF NOT EXISTS reviewed_at timestamptz,
    DROP CONSTRAINT IF EXISTS payment_refunds_refusal_check,
    ADD CONSTRAINT payment_refunds_refusal_check CHECK (refusal IS NULL
        OR state = 'REFUSED' AND refusal IN ('PROVIDER', 'NOTHING_LEFT', 'ACCOUNT_CLOSED')) NOT VALID;

RESET lock_timeout;

-- Of the refunds of one payment, one may have been sent without an answer. Uses payment_refunds_due.
UPDATE payment_refunds r
SET attempts = 0
WHERE r.next_attempt_at IS NOT NULL AND r.attempts > 0 AND r.state = 'CREATED'
  AND EXISTS (
      SELECT FROM payment_refunds o
      WHERE o.merchant_id = r.merchant_id AND o.claim_id = r.claim_id
        AND o.payment_id = r.payment_id AND o.state = 'CREATED' AND o.attempts > 0
        AND (o.created_at, o.refund_id) < (r.created_at, r.refund_id));

DROP INDEX CONCURRENTLY IF EXISTS payment_refunds_sent;
CREATE UNIQUE INDEX CONCURRENTLY payment_refunds_sent ON payment_refunds (merchant_id, payment_id)
    WHERE state = 'CREATED' AND attempts > 0;

-- The refunds that staff may have to look at.
DROP INDEX CONCURRENTLY IF EXISTS payment_refunds_review;
CREATE INDEX CONCURRENTLY payment_refunds_review
    ON payment_refunds (merchant_id, written_by, refund_id)
    WHERE state IN ('CREATED', 'ACCEPTED', 'REFUSED') AND reviewed_at IS NULL;
