-- Mandates that debtors give at a payment provider, and debits that the provider collects.

-- The provider's account and its kind. Null: the merchant's bank collects, and the account is ours.
ALTER TABLE mandates
    ALTER COLUMN account_sealed DROP NOT NULL,
    ADD COLUMN provider text,
    ADD COLUMN provider_name text,
    ADD CONSTRAINT mandates_collector CHECK ((provider IS NULL) = (account_sealed IS NOT NULL)
        AND (provider IS NULL) = (provider_name IS NULL)) NOT VALID;

-- A debit that a provider collects is in no file. Its payment request has the same id.
ALTER TABLE debit_collections
    ADD COLUMN provider text,
    DROP CONSTRAINT debit_collections_check2,
    ADD CONSTRAINT debit_collections_ordered CHECK (
        state NOT IN ('RELEASED', 'DELIVERED', 'COLLECTED', 'RETURNED')
        OR provider IS NOT NULL
        OR file_id IS NOT NULL AND sequence_type IS NOT NULL) NOT VALID;

-- COLLECTING: the provider debits the debtor's account on a day, without the debtor's doing.
ALTER TABLE payment_requests
    DROP CONSTRAINT payment_requests_state_check,
    ADD CONSTRAINT payment_requests_state_check CHECK (state IN ('CREATED', 'OPEN', 'PENDING',
        'COLLECTING', 'COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED')) NOT VALID;

-- A mandate at a provider, from the page on which the debtor gives it.
CREATE TABLE provider_mandates (
    merchant_id integer NOT NULL,
    -- The idempotency key at the provider, and the id of the mandate once it is given.
    mandate_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    modality_id uuid NOT NULL,
    provider text NOT NULL,
    provider_name text NOT NULL,
    -- OPEN: the debtor was sent to the provider's page. ACTIVE: it is given. CANCELLING: it has ended
    -- here and is to be cancelled at the provider.
    state text NOT NULL CHECK (state IN ('OPEN', 'ACTIVE', 'CANCELLING', 'ENDED')),
    -- The provider's ids of the page and of the mandate. Null until they are known.
    checkout_id text,
    provider_mandate_id text,
    language text NOT NULL,
    -- Who was sent to the page: the session of the claim's page.
    actor_kind text NOT NULL,
    actor_id text,
    -- Real time, as the instant at which the provider is asked next. Null: it is not asked.
    created_at timestamptz NOT NULL,
    next_check_at timestamptz,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, mandate_id),
    UNIQUE (provider, checkout_id),
    UNIQUE (provider, provider_mandate_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, modality_id) REFERENCES payment_modalities ON DELETE CASCADE,
    CHECK (state NOT IN ('ACTIVE', 'CANCELLING') OR provider_mandate_id IS NOT NULL)
);
-- A double click finds the open page: a plan has one.
CREATE UNIQUE INDEX provider_mandates_open ON provider_mandates (merchant_id, modality_id)
    WHERE state = 'OPEN';
CREATE INDEX provider_mandates_claim ON provider_mandates (merchant_id, claim_id);
CREATE INDEX provider_mandates_modality ON provider_mandates (merchant_id, modality_id);
CREATE INDEX provider_mandates_check ON provider_mandates (provider, next_check_at)
    WHERE next_check_at IS NOT NULL;

-- What is to be ordered or cancelled at the provider for a debit.
CREATE TABLE provider_debits (
    merchant_id integer NOT NULL,
    collection_id uuid NOT NULL,
    provider text NOT NULL,
    -- Why it is to be cancelled. Null: it is to be ordered.
    cancel_reason text CHECK (cancel_reason IN ('MANDATE_ENDED', 'PLAN_ENDED', 'PAID', 'DISPUTED')),
    -- Real time at which the provider is called, or called again. Null: there is nothing to do.
    next_attempt_at timestamptz,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, collection_id),
    FOREIGN KEY (merchant_id, collection_id) REFERENCES debit_collections ON DELETE CASCADE
);
CREATE INDEX provider_debits_attempt ON provider_debits (provider, next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
