-- Tables of adapters. Real time.

-- How far a delivery provider's mailbox was read over IMAP. Message numbers (UIDs) are only valid
-- together with the mailbox's UIDVALIDITY.
CREATE TABLE mailbox_positions (
    provider text PRIMARY KEY,
    folder text NOT NULL,
    uid_validity bigint NOT NULL,
    last_uid bigint NOT NULL,
    read_at timestamptz NOT NULL
);

-- The checkouts of the sandbox payment provider, which behaves like a real one.
CREATE TABLE sandbox_checkouts (
    merchant_id integer NOT NULL,
    checkout_id uuid NOT NULL,
    -- The caller's idempotency key: the same key finds the same checkout.
    request_id uuid NOT NULL,
    amount_cents bigint NOT NULL,
    currency text NOT NULL,
    reference text NOT NULL,
    description text NOT NULL,
    return_url text NOT NULL,
    notice_url text NOT NULL,
    state text NOT NULL
        CHECK (state IN ('OPEN', 'PENDING', 'SUCCEEDED', 'FAILED', 'CANCELLED')),
    transaction_id text,
    -- When somebody last made a decision on the checkout page.
    decided_at timestamptz,
    -- How many notifications have to be sent, and when the next one is due.
    notices_due integer NOT NULL DEFAULT 0,
    notice_at timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, checkout_id),
    UNIQUE (merchant_id, request_id)
);
CREATE INDEX sandbox_checkouts_notices ON sandbox_checkouts (notice_at) WHERE notices_due > 0;
