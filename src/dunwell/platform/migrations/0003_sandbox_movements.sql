-- Refunds and chargebacks of the sandbox payment provider.
CREATE TABLE sandbox_movements (
    merchant_id integer NOT NULL,
    movement_id uuid NOT NULL,
    checkout_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN
        ('REFUNDED', 'REFUND_FAILED', 'CHARGED_BACK', 'CHARGEBACK_REVERSED')),
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    -- The caller's idempotency key of a refund.
    refund_key uuid,
    moved_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, movement_id, kind),
    FOREIGN KEY (merchant_id, checkout_id) REFERENCES sandbox_checkouts ON DELETE CASCADE
);
CREATE INDEX sandbox_movements_checkout ON sandbox_movements (merchant_id, checkout_id);
CREATE UNIQUE INDEX sandbox_movements_refund ON sandbox_movements (merchant_id, refund_key)
    WHERE refund_key IS NOT NULL;
ALTER TABLE sandbox_checkouts RENAME COLUMN notice_url TO notification_url;
