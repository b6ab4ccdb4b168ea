-- The whole merchant API: lists, disputes, payment modalities, fees that belong to an item.

-- Lists are in the order of transactions (see events), so that nothing appears behind a cursor.
ALTER TABLE claims ADD COLUMN written_by xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX claims_list ON claims (merchant_id, written_by, claim_id);
CREATE INDEX claims_by_status ON claims (merchant_id, status, written_by, claim_id);
CREATE INDEX claims_updated ON claims (merchant_id, updated_at);
CREATE INDEX debtors_customer ON debtors (merchant_id, customer_number)
    WHERE customer_number IS NOT NULL;

-- The item a fee was added for; it goes with the item.
ALTER TABLE items ADD COLUMN fee_of bigint;
ALTER TABLE items ADD FOREIGN KEY (merchant_id, claim_id, fee_of) REFERENCES items;

CREATE TABLE disputes (
    merchant_id integer NOT NULL,
    dispute_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    -- One of the contract's options, as the event bears it; OTHER for a merchant's own reason.
    type text NOT NULL,
    -- A merchant's own reason by its name, and its words then, which the event bears.
    reason text,
    label text,
    -- What was written with it; the event bears that of OTHER.
    message text,
    -- Answers to a reason's questions: not in the event.
    answers jsonb NOT NULL DEFAULT '{}',
    state text NOT NULL DEFAULT 'OPEN' CHECK (state IN ('OPEN', 'ACCEPTED', 'REJECTED', 'WITHDRAWN')),
    hold_id uuid NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    opened_at timestamptz NOT NULL,
    resolved_at timestamptz,
    resolution text,
    ended_claim boolean,
    PRIMARY KEY (merchant_id, dispute_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((state = 'OPEN') = (resolved_at IS NULL)),
    CHECK ((reason IS NULL) = (label IS NULL)),
    CHECK (reason IS NULL OR type = 'OTHER')
);
CREATE INDEX disputes_claim ON disputes (merchant_id, claim_id, opened_at, dispute_id);
CREATE INDEX disputes_open ON disputes (merchant_id, opened_at) WHERE state = 'OPEN';

CREATE TABLE payment_modalities (
    merchant_id integer NOT NULL,
    modality_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    type text NOT NULL CHECK (type IN ('PAYMENT_PLAN', 'PAYMENT_DEFEREMENT')),
    state text NOT NULL DEFAULT 'REQUESTED' CHECK (state IN ('REQUESTED', 'APPROVED', 'REJECTED')),
    -- What the plan shares out, and what had been paid when it was asked for.
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    paid_before_cents bigint NOT NULL CHECK (paid_before_cents >= 0),
    deferred_until date,
    requested_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    answered_at timestamptz,
    reason text,
    ended_at timestamptz,
    ended_reason text CHECK (ended_reason IN
        ('WITHDRAWN', 'BROKEN', 'FULFILLED', 'PASSED', 'REJECTED', 'CLAIM_ENDED')),
    -- The merchant's time of the next look: a rate's due date and its grace, or the date deferred to.
    check_at timestamptz,
    PRIMARY KEY (merchant_id, modality_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((state = 'REQUESTED') = (answered_at IS NULL)),
    CHECK ((ended_at IS NULL) = (ended_reason IS NULL)),
    CHECK ((type = 'PAYMENT_DEFEREMENT') = (deferred_until IS NOT NULL))
);
-- A claim has one modality at a time.
CREATE UNIQUE INDEX payment_modalities_one ON payment_modalities (merchant_id, claim_id)
    WHERE ended_at IS NULL;
CREATE INDEX payment_modalities_claim ON payment_modalities (merchant_id, claim_id, requested_at);
CREATE INDEX payment_modalities_check ON payment_modalities (merchant_id, check_at)
    WHERE check_at IS NOT NULL AND ended_at IS NULL;

CREATE TABLE instalments (
    merchant_id integer NOT NULL,
    modality_id uuid NOT NULL,
    -- From 1.
    number integer NOT NULL,
    due_on date NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    PRIMARY KEY (merchant_id, modality_id, number),
    FOREIGN KEY (merchant_id, modality_id) REFERENCES payment_modalities ON DELETE CASCADE
);

-- Events by time, and by type.
CREATE INDEX events_by_time ON events (merchant_id, occurred_at);
CREATE INDEX events_by_type ON events (merchant_id, type, written_by, event_id);

-- A delivery made due again: it runs behind live ones, and its schedule counts from there.
ALTER TABLE deliveries
    ADD COLUMN is_replay boolean NOT NULL DEFAULT false,
    ADD COLUMN tries_before integer NOT NULL DEFAULT 0;
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (merchant_id, endpoint_id, is_replay, due_at)
    WHERE state = 'PENDING';
