-- Money that payment providers moved, and how much of each payment was returned.

-- How many cents of the payment were returned: refunded, charged back or reversed. A payment that
-- was returned completely is reversed.
ALTER TABLE payments
    ADD COLUMN returned_cents bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT payments_returned CHECK (returned_cents BETWEEN 0 AND amount_cents) NOT VALID;

-- The kind of provider, as in events. `provider` is the name of the account. `means` is the means
-- of payment that the debtor chose; null lets the provider ask.
ALTER TABLE payment_requests
    ADD COLUMN provider_name text NOT NULL DEFAULT 'sandbox', ADD COLUMN means text;
ALTER TABLE payment_requests ALTER COLUMN provider_name DROP DEFAULT;

-- The movements of money that changed what was paid, each once: those that a provider lists for a
-- checkout, and reversals by the merchant (kind REVERSED, without a provider).
CREATE TABLE payment_movements (
    merchant_id integer NOT NULL,
    -- Our id.
    record_id uuid NOT NULL,
    -- The name of the provider's account; empty for a reversal by the merchant.
    provider text NOT NULL,
    -- The provider's id. A refund that fails keeps its id, so the kind belongs to the key.
    movement_id text NOT NULL,
    kind text NOT NULL CHECK (kind IN
        ('PAID', 'REFUNDED', 'REFUND_FAILED', 'CHARGED_BACK', 'CHARGEBACK_REVERSED', 'REVERSED')),
    claim_id bigint NOT NULL,
    request_id uuid,
    -- The payment that it made or changed. Null if it could not be booked.
    payment_id uuid,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    currency text NOT NULL,
    -- The part by which it changed what was paid for the claim.
    booked_cents bigint NOT NULL CHECK (booked_cents BETWEEN 0 AND amount_cents),
    -- The provider's time.
    moved_at timestamptz NOT NULL,
    -- The merchant's time.
    recorded_at timestamptz NOT NULL,
    -- Why staff has to look at it, and when that was done.
    review_reason text CHECK (review_reason IN
        ('OTHER_CURRENCY', 'OTHER_AMOUNT', 'NOTHING_TO_RETURN', 'CLAIM_ENDED')),
    reviewed_at timestamptz,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, provider, movement_id, kind),
    UNIQUE (merchant_id, record_id),
    CHECK (payment_id IS NOT NULL OR booked_cents = 0),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, request_id) REFERENCES payment_requests,
    FOREIGN KEY (merchant_id, payment_id) REFERENCES payments
);
CREATE INDEX payment_movements_claim ON payment_movements (merchant_id, claim_id, recorded_at);
CREATE INDEX payment_movements_request ON payment_movements (merchant_id, request_id)
    WHERE request_id IS NOT NULL;
CREATE INDEX payment_movements_list
    ON payment_movements (merchant_id, written_by, record_id);
CREATE INDEX payment_movements_review ON payment_movements (merchant_id, written_by, record_id)
    WHERE review_reason IS NOT NULL AND reviewed_at IS NULL;

-- Further ids by which a provider's notifications name a checkout, such as its charge.
CREATE TABLE provider_ids (
    merchant_id integer NOT NULL,
    provider text NOT NULL,
    provider_id text NOT NULL,
    request_id uuid NOT NULL,
    PRIMARY KEY (merchant_id, provider, provider_id),
    FOREIGN KEY (merchant_id, request_id) REFERENCES payment_requests ON DELETE CASCADE
);
-- A notification does not name the merchant.
CREATE INDEX provider_ids_by_id ON provider_ids (provider, provider_id);
CREATE INDEX provider_ids_request ON provider_ids (merchant_id, request_id);
