-- Tables of cases: what happens to a claim. Assignment rules, disputes, payment plans and
-- deferrals, payments, replies of debtors.

-- Assignment rules --------------------------------------------------------------------------------

-- The published versions of a merchant's rules, which choose the workflow of new claims.
CREATE TABLE assignment_rules (
    merchant_id integer NOT NULL REFERENCES merchants,
    version integer NOT NULL,
    document jsonb NOT NULL,
    published_at timestamptz NOT NULL,
    -- Who published the version, and the version note.
    actor_kind text NOT NULL,
    actor_id text,
    comment text,
    PRIMARY KEY (merchant_id, version)
);
CREATE FUNCTION refuse_change_of_published_rules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'assignment rules % are published and cannot be changed', OLD.version;
END $$;
CREATE TRIGGER assignment_rules_immutable BEFORE UPDATE OR DELETE ON assignment_rules
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_published_rules();

-- A merchant's draft of the rules.
CREATE TABLE assignment_rule_drafts (
    merchant_id integer PRIMARY KEY REFERENCES merchants,
    document jsonb NOT NULL,
    saved_at timestamptz NOT NULL,
    -- The changes that are in this draft (assignment_rule_changes): from the first one to the
    -- latest.
    first_revision integer NOT NULL DEFAULT 1,
    revision integer NOT NULL DEFAULT 1
);

-- What was changed each time a draft was saved. Revisions continue after a draft was published or
-- discarded, so that no two drafts have the same one.
CREATE TABLE assignment_rule_changes (
    merchant_id integer NOT NULL REFERENCES merchants,
    revision integer NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    created_at timestamptz NOT NULL,
    -- [{"kind", "name"}], compared with the draft before, or else with the published rules.
    changes jsonb NOT NULL,
    PRIMARY KEY (merchant_id, revision)
);

-- Disputes ----------------------------------------------------------------------------------------

CREATE TABLE disputes (
    merchant_id integer NOT NULL,
    dispute_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    -- One of the contract's types, as in the event; OTHER for a reason of the merchant's own.
    type text NOT NULL,
    -- The name of the merchant's own reason, and its label at that time, which is in the event.
    reason text,
    label text,
    -- What the debtor wrote; in the event only for OTHER.
    message text,
    -- The answers to the reason's questions; not in the event.
    answers jsonb NOT NULL DEFAULT '{}',
    state text NOT NULL DEFAULT 'OPEN'
        CHECK (state IN ('OPEN', 'ACCEPTED', 'REJECTED', 'WITHDRAWN')),
    hold_id uuid NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    opened_at timestamptz NOT NULL,
    resolved_at timestamptz,
    resolution text,
    ended_claim boolean,
    -- Since when a channel has accepted the message with the answer.
    response_sent_at timestamptz,
    -- Since when the merchant has known that the answer is overdue. Real time.
    overdue_reported_at timestamptz,
    assignee_id uuid CONSTRAINT disputes_assignee REFERENCES users,
    -- A dispute may withhold the claim (decision 0024): when the claim's page is shown again, which
    -- address the dispute put on the suppression list, and whom nobody may contact. The digests are
    -- made with each version of the key, the identities with key_version.
    released_at timestamptz,
    suppressed_channel text,
    suppressed_digests bytea[],
    stopped_identities bytea[],
    key_version smallint,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, dispute_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((state = 'OPEN') = (resolved_at IS NULL)),
    CHECK ((reason IS NULL) = (label IS NULL)),
    CONSTRAINT disputes_reason_check CHECK (
        reason IS NULL OR type = 'OTHER' OR (reason = 'WRONG_PERSON' AND type = 'NOT_MY_DEBT')
    )
);
CREATE INDEX disputes_claim ON disputes (merchant_id, claim_id, opened_at, dispute_id);
-- Open disputes by age: all, those whose answer is not overdue yet, and those where it is.
CREATE INDEX disputes_open ON disputes (merchant_id, opened_at) WHERE state = 'OPEN';
CREATE INDEX disputes_overdue ON disputes (merchant_id, opened_at)
    WHERE state = 'OPEN' AND overdue_reported_at IS NULL;
CREATE INDEX disputes_overdue_reported ON disputes (merchant_id, overdue_reported_at)
    WHERE state = 'OPEN' AND overdue_reported_at IS NOT NULL;
-- Lists: all disputes, the open ones, and the ended ones by state.
CREATE INDEX disputes_list ON disputes (merchant_id, written_by, dispute_id);
CREATE INDEX disputes_open_list ON disputes (merchant_id, written_by, dispute_id)
    WHERE state = 'OPEN';
CREATE INDEX disputes_by_state ON disputes (merchant_id, state, written_by, dispute_id)
    WHERE state <> 'OPEN';
-- Whether anybody among the recipients may not be contacted. The digest of an identity differs by
-- merchant.
CREATE INDEX disputes_stopped ON disputes USING gin (stopped_identities)
    WHERE released_at IS NULL AND stopped_identities IS NOT NULL;
-- Whether another dispute still needs a suppressed address.
CREATE INDEX disputes_suppressed ON disputes USING gin (suppressed_digests)
    WHERE released_at IS NULL AND suppressed_digests IS NOT NULL;

-- A debtor's evidence: files that were sent with a dispute or added later.
CREATE TABLE dispute_files (
    merchant_id integer NOT NULL,
    dispute_id uuid NOT NULL,
    file_id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    added_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    PRIMARY KEY (merchant_id, dispute_id, file_id),
    UNIQUE (merchant_id, dispute_id, ticket_id),
    FOREIGN KEY (merchant_id, dispute_id) REFERENCES disputes ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, ticket_id) REFERENCES uploads
);
CREATE INDEX dispute_files_ticket ON dispute_files (merchant_id, ticket_id);

-- A merchant's response templates, for everybody who answers disputes.
CREATE TABLE response_templates (
    merchant_id integer NOT NULL REFERENCES merchants,
    template_id uuid NOT NULL,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    text text NOT NULL CHECK (length(text) BETWEEN 1 AND 4000),
    created_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    PRIMARY KEY (merchant_id, template_id),
    UNIQUE (merchant_id, name)
);

-- The draft of a response. A dispute has one, whoever writes it, so that two users see each other's
-- text.
CREATE TABLE response_drafts (
    merchant_id integer NOT NULL,
    dispute_id uuid NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('', 'ACCEPTED', 'REJECTED')),
    ends_claim boolean NOT NULL,
    message text NOT NULL CHECK (length(message) <= 4000),
    -- Raised by every change; detects conflicting edits.
    revision integer NOT NULL,
    -- Real time.
    saved_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    PRIMARY KEY (merchant_id, dispute_id),
    FOREIGN KEY (merchant_id, dispute_id) REFERENCES disputes ON DELETE CASCADE
);

-- Payment plans and deferrals ---------------------------------------------------------------------

CREATE TABLE payment_modalities (
    merchant_id integer NOT NULL,
    modality_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    type text NOT NULL CHECK (type IN ('PAYMENT_PLAN', 'PAYMENT_DEFEREMENT')),
    state text NOT NULL DEFAULT 'REQUESTED' CHECK (state IN ('REQUESTED', 'APPROVED', 'REJECTED')),
    -- What the plan divides, and what had been paid when it was requested.
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    paid_before_cents bigint NOT NULL CHECK (paid_before_cents >= 0),
    deferred_until date,
    requested_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    answered_at timestamptz,
    -- Why it was rejected.
    reason text,
    ended_at timestamptz,
    ended_reason text CHECK (ended_reason IN
        ('WITHDRAWN', 'BROKEN', 'FULFILLED', 'PASSED', 'REJECTED', 'CLAIM_ENDED')),
    -- The merchant's time at which it is checked next: the end of an instalment's grace period, or
    -- of the deferral.
    check_at timestamptz,
    assignee_id uuid CONSTRAINT payment_modalities_assignee REFERENCES users,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, modality_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((state = 'REQUESTED') = (answered_at IS NULL)),
    CHECK ((ended_at IS NULL) = (ended_reason IS NULL)),
    CHECK ((type = 'PAYMENT_DEFEREMENT') = (deferred_until IS NOT NULL))
);
-- A claim has one active plan or deferral at a time.
CREATE UNIQUE INDEX payment_modalities_one
    ON payment_modalities (merchant_id, claim_id) WHERE ended_at IS NULL;
CREATE INDEX payment_modalities_claim ON payment_modalities (merchant_id, claim_id, requested_at);
-- What has to be checked: of one merchant, and the merchants that have any.
CREATE INDEX payment_modalities_check
    ON payment_modalities (merchant_id, check_at) WHERE check_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX payment_modalities_check_anywhere
    ON payment_modalities (check_at) WHERE check_at IS NOT NULL AND ended_at IS NULL;
-- Lists: all, and the requests.
CREATE INDEX payment_modalities_list ON payment_modalities (merchant_id, written_by, modality_id);
CREATE INDEX payment_modalities_requested
    ON payment_modalities (merchant_id, written_by, modality_id)
    WHERE state = 'REQUESTED' AND ended_at IS NULL;

-- The instalments of a payment plan.
CREATE TABLE instalments (
    merchant_id integer NOT NULL,
    modality_id uuid NOT NULL,
    -- Counts from 1.
    number integer NOT NULL,
    due_on date NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    PRIMARY KEY (merchant_id, modality_id, number),
    FOREIGN KEY (merchant_id, modality_id) REFERENCES payment_modalities ON DELETE CASCADE
);

-- Payments ----------------------------------------------------------------------------------------

-- A payment that a debtor has started with a payment provider, or a bank transfer that a debtor has
-- announced (provider BANK_TRANSFER).
CREATE TABLE payment_requests (
    merchant_id integer NOT NULL,
    -- The paymentRequestId in events, and the idempotency key at the provider.
    request_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    provider text NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    currency text NOT NULL,
    reference text NOT NULL,
    -- CREATED: the provider may not know of it yet. OPEN: the debtor was sent to the provider.
    -- PENDING: the debtor has finished, the money is on its way.
    state text NOT NULL CHECK (state IN
        ('CREATED', 'OPEN', 'PENDING', 'COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED')),
    provider_reference text,
    checkout_url text,
    created_at timestamptz NOT NULL,
    settled_at timestamptz,
    -- Real time at which the provider is asked next. Null when the request is settled.
    next_check_at timestamptz,
    checks integer NOT NULL DEFAULT 0,
    -- The items that the debtor chose to pay first. Empty: no choice.
    item_ids bigint[] NOT NULL DEFAULT '{}',
    -- The day on which an announced bank transfer was sent.
    sent_on date,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, request_id),
    UNIQUE (provider, provider_reference),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
-- A double click finds the open request: a claim has one for each provider.
CREATE UNIQUE INDEX payment_requests_one_open ON payment_requests (merchant_id, claim_id, provider)
    WHERE state IN ('CREATED', 'OPEN', 'PENDING');
-- A claim's newest request, for its page.
CREATE INDEX payment_requests_claim ON payment_requests (merchant_id, claim_id, created_at);
CREATE INDEX payment_requests_check ON payment_requests (merchant_id, next_check_at)
    WHERE next_check_at IS NOT NULL;
-- Lists: all, and those whose money is on its way.
CREATE INDEX payment_requests_list ON payment_requests (merchant_id, written_by, request_id);
CREATE INDEX payment_requests_pending ON payment_requests (merchant_id, written_by, request_id)
    WHERE state = 'PENDING';

-- Payments that were recorded for a claim.
CREATE TABLE payments (
    merchant_id integer NOT NULL,
    payment_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    currency text NOT NULL,
    transaction_id text NOT NULL,
    provider_name text,
    paid_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    reversed_at timestamptz,
    -- In the words of the person who reversed it.
    reversal_reason text,
    request_id uuid,
    -- The means of payment, masked by the provider.
    method text,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, payment_id),
    UNIQUE (merchant_id, claim_id, transaction_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, request_id) REFERENCES payment_requests
);
-- A request is paid once.
CREATE UNIQUE INDEX payments_request
    ON payments (merchant_id, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX payments_list ON payments (merchant_id, written_by, payment_id);

-- How many cents of a payment paid which item. The rest of the payment is overpaid.
CREATE TABLE allocations (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    payment_id uuid NOT NULL,
    item_id bigint NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    PRIMARY KEY (merchant_id, claim_id, payment_id, item_id),
    FOREIGN KEY (merchant_id, payment_id) REFERENCES payments ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, claim_id, item_id) REFERENCES items
);

-- Replies -----------------------------------------------------------------------------------------

-- Replies of debtors to our e-mails, each once.
CREATE TABLE debtor_replies (
    merchant_id integer NOT NULL,
    reply_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    -- The contact or notice that it replies to.
    communication_id uuid NOT NULL,
    -- The same value for an e-mail that arrives twice.
    provider_message_id text NOT NULL,
    -- The delivery provider that received it.
    provider text NOT NULL,
    -- The merchant's time.
    received_at timestamptz NOT NULL,
    subject text NOT NULL,
    text text NOT NULL,
    file_names text[] NOT NULL,
    -- True for the reply of a program, such as an out-of-office message.
    is_automatic boolean NOT NULL,
    -- The e-mail as it arrived, encrypted with the secret key.
    raw_sealed bytea NOT NULL,
    -- The pause that lasts until somebody has read the reply.
    hold_id uuid,
    -- Who read it, and when.
    read_at timestamptz,
    read_by text,
    PRIMARY KEY (merchant_id, reply_id),
    UNIQUE (merchant_id, provider_message_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
CREATE INDEX debtor_replies_claim ON debtor_replies (merchant_id, claim_id, received_at);
CREATE INDEX debtor_replies_unread ON debtor_replies (merchant_id, received_at)
    WHERE read_at IS NULL AND NOT is_automatic;
