-- Payouts get an id of ours, the amounts of their movements, and the entry that they arrived with.
-- The table has one row for each payout, so it is copied to a new one.
CREATE TABLE provider_payouts (
    merchant_id integer NOT NULL REFERENCES merchants,
    -- Our id.
    record_id uuid NOT NULL,
    -- The name of the provider's account.
    provider text NOT NULL,
    -- The provider's id.
    payout_id text NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    fees_cents bigint NOT NULL,
    currency text NOT NULL,
    -- When it is expected to arrive.
    paid_at timestamptz NOT NULL,
    -- Pairs of the provider's id of a movement, and its cents; negative for money that was given
    -- back. Empty: the provider does not list them.
    movements jsonb NOT NULL DEFAULT '[]',
    -- The merchant's time.
    recorded_at timestamptz NOT NULL,
    -- When it was found on a statement, and its transaction there. The transaction is null if it
    -- was found before this column existed.
    arrived_at timestamptz,
    entry_id uuid,
    number integer,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, provider, payout_id),
    UNIQUE (merchant_id, record_id),
    FOREIGN KEY (merchant_id, entry_id, number) REFERENCES bank_transactions,
    CHECK ((entry_id IS NULL) = (number IS NULL)),
    CHECK (entry_id IS NULL OR arrived_at IS NOT NULL)
);
INSERT INTO provider_payouts
    (merchant_id, record_id, provider, payout_id, amount_cents, fees_cents, currency, paid_at,
     recorded_at, arrived_at)
SELECT merchant_id, gen_random_uuid(), provider, payout_id, amount_cents, fees_cents, currency,
       paid_at, least(paid_at, now()), arrived_at
FROM payouts;
DROP TABLE payouts;
CREATE INDEX provider_payouts_awaited ON provider_payouts (merchant_id, currency, amount_cents)
    WHERE arrived_at IS NULL;
CREATE INDEX provider_payouts_list ON provider_payouts (merchant_id, written_by, record_id);
CREATE INDEX provider_payouts_entry ON provider_payouts (merchant_id, entry_id, number)
    WHERE entry_id IS NOT NULL;
