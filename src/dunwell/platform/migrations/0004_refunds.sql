-- Refunds that the merchant ordered from a payment provider.
CREATE TABLE payment_refunds (
    merchant_id integer NOT NULL,
    -- The idempotency key at the provider.
    refund_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    payment_id uuid NOT NULL,
    request_id uuid NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    currency text NOT NULL,
    -- What becomes of the amount: it was surplus, the merchant gives it up, or it is owed again.
    effect text NOT NULL CHECK (effect IN ('SURPLUS', 'REDUCE_CLAIM', 'REOPEN')),
    -- In the words of the person who ordered it.
    reason text,
    -- CREATED: the provider may not know of it yet. ACCEPTED: it has the provider's id. BOOKED: the
    -- provider lists the movement.
    state text NOT NULL CHECK (state IN ('CREATED', 'ACCEPTED', 'BOOKED', 'REFUSED')),
    provider text NOT NULL,
    provider_refund_id text,
    actor_kind text NOT NULL,
    actor_id text,
    created_at timestamptz NOT NULL,
    -- Real time at which the order is sent again. Null once the provider has answered.
    next_attempt_at timestamptz,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, refund_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, payment_id) REFERENCES payments,
    FOREIGN KEY (merchant_id, request_id) REFERENCES payment_requests
);
CREATE INDEX payment_refunds_list ON payment_refunds (merchant_id, written_by, refund_id);
CREATE INDEX payment_refunds_claim ON payment_refunds (merchant_id, claim_id, created_at);
CREATE UNIQUE INDEX payment_refunds_provider
    ON payment_refunds (merchant_id, provider, provider_refund_id)
    WHERE provider_refund_id IS NOT NULL;
CREATE INDEX payment_refunds_attempt ON payment_refunds (merchant_id, next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;

-- What the merchant gave up of an item when it refunded a payment.
CREATE TABLE item_reductions (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    item_id bigint NOT NULL,
    refund_id uuid NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, claim_id, item_id, refund_id),
    FOREIGN KEY (merchant_id, claim_id, item_id) REFERENCES items ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, refund_id) REFERENCES payment_refunds ON DELETE CASCADE
);
CREATE INDEX item_reductions_refund ON item_reductions (merchant_id, refund_id);
-- An item of which everything was given up is worth nothing.
ALTER TABLE items
    DROP CONSTRAINT items_value_cents_check,
    ADD CONSTRAINT items_value_cents_check
        CHECK (value_cents >= 0 AND value_cents < 1000000000000) NOT VALID;
