-- Direct debits for the instalments of payment plans.

-- The debtor's permission to debit an account.
CREATE TABLE mandates (
    merchant_id integer NOT NULL,
    mandate_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    -- The payment plan that it was given for.
    modality_id uuid NOT NULL,
    creditor_id text NOT NULL,
    reference text NOT NULL CHECK (length(reference) BETWEEN 1 AND 35),
    -- The debtor's account, encrypted with the secret key, and how messages show it.
    account_sealed bytea NOT NULL,
    account_shown text NOT NULL,
    -- What the debtor read and accepted, and in which language.
    text text NOT NULL,
    language text NOT NULL,
    -- The merchant's time, and the day of it.
    signed_at timestamptz NOT NULL,
    signed_on date NOT NULL,
    -- Who signed it: for a debtor, the session of the claim's page.
    actor_kind text NOT NULL,
    actor_id text,
    state text NOT NULL CHECK (state IN ('ACTIVE', 'REVOKED', 'EXPIRED')),
    -- The last day on which it can be used, unless it was used later.
    expires_on date NOT NULL,
    ended_at timestamptz,
    ended_reason text CHECK (ended_reason IN ('REVOKED', 'RETURNED', 'UNUSED', 'PLAN_ENDED')),
    -- The merchant's time at which it is checked next. Null when it has ended.
    check_at timestamptz,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, mandate_id),
    -- A mandate's reference is unique for its creditor, who may be several merchants.
    CONSTRAINT mandates_reference UNIQUE (creditor_id, reference),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, modality_id) REFERENCES payment_modalities ON DELETE CASCADE,
    CHECK ((state = 'ACTIVE') = (ended_at IS NULL)),
    CHECK ((ended_at IS NULL) = (ended_reason IS NULL))
);
-- A plan has one mandate at a time.
CREATE UNIQUE INDEX mandates_one ON mandates (merchant_id, modality_id) WHERE state = 'ACTIVE';
CREATE INDEX mandates_claim ON mandates (merchant_id, claim_id, signed_at);
CREATE INDEX mandates_modality ON mandates (merchant_id, modality_id);
CREATE INDEX mandates_check ON mandates (merchant_id, check_at) WHERE check_at IS NOT NULL;
CREATE INDEX mandates_check_anywhere ON mandates (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX mandates_list ON mandates (merchant_id, written_by, mandate_id);

-- Orders for the bank (pain.008.001.08).
CREATE TABLE debit_files (
    merchant_id integer NOT NULL,
    file_id uuid NOT NULL,
    message_id text NOT NULL,
    -- PROPOSED: a second user has to release it. RELEASED: it is to be delivered or downloaded.
    state text NOT NULL CHECK (state IN ('PROPOSED', 'RELEASED', 'DELIVERED')),
    debits integer NOT NULL CHECK (debits > 0),
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    -- The XML document, encrypted with the secret key, and its SHA-256. Null while it is proposed.
    content_sealed bytea,
    content_digest bytea,
    -- The merchant's time; the users who released it.
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    released_at timestamptz,
    released_by text,
    -- The bank connection. Null: users download it.
    deliver_to text,
    -- Real time, as the instants below: when it is delivered, or tried again.
    next_attempt_at timestamptz,
    -- It is complete at the bank's end, under a temporary name.
    handed_over_at timestamptz,
    delivered_at timestamptz,
    -- What the last attempt failed of.
    problem text,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, file_id),
    CONSTRAINT debit_files_message UNIQUE (merchant_id, message_id),
    CHECK ((state = 'PROPOSED') = (content_sealed IS NULL)),
    CHECK ((content_sealed IS NULL) = (content_digest IS NULL)),
    CHECK ((state = 'PROPOSED') = (released_at IS NULL)),
    CHECK ((state = 'DELIVERED') = (delivered_at IS NOT NULL)),
    CHECK (next_attempt_at IS NULL OR state = 'RELEASED' AND deliver_to IS NOT NULL)
);
CREATE INDEX debit_files_attempt ON debit_files (merchant_id, next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX debit_files_attempt_anywhere ON debit_files (next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX debit_files_list ON debit_files (merchant_id, written_by, file_id);

-- The collection of an instalment.
CREATE TABLE debit_collections (
    merchant_id integer NOT NULL,
    collection_id uuid NOT NULL,
    mandate_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    modality_id uuid NOT NULL,
    instalment integer NOT NULL,
    -- The instalment's day, and the banking day on which the account is debited.
    due_on date NOT NULL,
    collected_on date NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    currency text NOT NULL CHECK (currency = 'EUR'),
    state text NOT NULL CHECK (state IN
        ('PLANNED', 'PRENOTIFIED', 'RELEASED', 'DELIVERED', 'COLLECTED', 'RETURNED', 'CANCELLED')),
    end_to_end_id text NOT NULL,
    sequence_type text CHECK (sequence_type IN ('FRST', 'RCUR', 'FNAL', 'OOFF')),
    file_id uuid,
    batch_id text,
    payment_id uuid,
    -- The bank's code.
    return_reason text,
    cancel_reason text CHECK (cancel_reason IN
        ('MANDATE_ENDED', 'PLAN_ENDED', 'PAID', 'NOT_NOTIFIED', 'NOT_RELEASED', 'DISPUTED')),
    -- The merchant's time: when the debtor was notified, and when the state last changed.
    notified_at timestamptz,
    changed_at timestamptz NOT NULL,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, collection_id),
    CONSTRAINT debit_collections_end_to_end UNIQUE (merchant_id, end_to_end_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, mandate_id) REFERENCES mandates ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, modality_id, instalment) REFERENCES instalments ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, file_id) REFERENCES debit_files,
    FOREIGN KEY (merchant_id, payment_id) REFERENCES payments,
    CHECK ((state = 'CANCELLED') = (cancel_reason IS NOT NULL)),
    CHECK ((state = 'RETURNED') = (return_reason IS NOT NULL)),
    CHECK (state NOT IN ('RELEASED', 'DELIVERED', 'COLLECTED', 'RETURNED')
           OR file_id IS NOT NULL AND sequence_type IS NOT NULL),
    CHECK (state NOT IN ('PLANNED') OR notified_at IS NULL)
);
-- An instalment is collected once.
CREATE UNIQUE INDEX debit_collections_once
    ON debit_collections (merchant_id, modality_id, instalment) WHERE state <> 'CANCELLED';
CREATE INDEX debit_collections_modality
    ON debit_collections (merchant_id, modality_id, instalment);
CREATE INDEX debit_collections_mandate ON debit_collections (merchant_id, mandate_id);
CREATE INDEX debit_collections_file ON debit_collections (merchant_id, file_id)
    WHERE file_id IS NOT NULL;
CREATE INDEX debit_collections_releasable ON debit_collections (merchant_id, collected_on)
    WHERE state = 'PRENOTIFIED';
CREATE INDEX debit_collections_list
    ON debit_collections (merchant_id, written_by, collection_id);

-- Until when an instalment that is collected by direct debit is awaited. Null: until its due date.
ALTER TABLE instalments ADD COLUMN awaited_on date;
