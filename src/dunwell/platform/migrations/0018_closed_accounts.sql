-- Accounts at payment providers whose contract has ended.

-- Since when a closed account gives no answer (real time), for example because its key was revoked.
CREATE TABLE closed_account_failures (
    -- The name of the account.
    provider text PRIMARY KEY,
    failing_since timestamptz NOT NULL
);

-- ACCOUNT_CLOSED: the provider collects nothing more, because the account is closed.
ALTER TABLE mandates
    DROP CONSTRAINT mandates_ended_reason_check,
    ADD CONSTRAINT mandates_ended_reason_check CHECK (ended_reason IN
        ('REVOKED', 'RETURNED', 'UNUSED', 'PLAN_ENDED', 'ACCOUNT_CLOSED')) NOT VALID;

-- UNKNOWN_ORDER: a refund that was ordered here, whose order is not known here, as after a restore.
ALTER TABLE payment_movements
    DROP CONSTRAINT payment_movements_review_reason_check,
    ADD CONSTRAINT payment_movements_review_reason_check CHECK (review_reason IN
        ('OTHER_CURRENCY', 'OTHER_AMOUNT', 'NOTHING_TO_RETURN', 'REFUND_FAILED', 'UNKNOWN_ORDER',
         'CLAIM_ENDED')) NOT VALID;
