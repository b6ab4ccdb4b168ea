-- All three channels, the debtor's way in, and payments by providers.

-- A contact that needs an attachment nobody has handed in yet.
ALTER TABLE communications DROP CONSTRAINT communications_state_check;
ALTER TABLE communications ADD CONSTRAINT communications_state_check CHECK (state IN
    ('PLANNED', 'ATTACHMENT_MISSING', 'HANDED_OVER', 'ACCEPTED', 'FAILED', 'CANCELLED', 'UNKNOWN'));

-- One without its attachment is given up at its not_before; the dispatcher finds both.
DROP INDEX communications_planned;
CREATE INDEX communications_planned ON communications (merchant_id, not_before)
    WHERE state IN ('PLANNED', 'ATTACHMENT_MISSING');

-- When a collected claim's next step was due: a reversal lets it go on then, not at once.
ALTER TABLE claims ADD COLUMN resume_at timestamptz;

-- A letter's PDF is kept with the files, under this key, sealed: it bears the link and the code.
ALTER TABLE communication_contents ADD COLUMN document_key text;
-- The attachments that went along, in order: a message that is repeated is the same message.
ALTER TABLE communication_contents ADD COLUMN attachment_ids uuid[] NOT NULL DEFAULT '{}';

-- The code printed on a letter, kept as a keyed digest only: twelve characters could be guessed
-- from a plain hash.
CREATE TABLE debtor_codes (
    merchant_id integer NOT NULL,
    code_digest bytea NOT NULL UNIQUE,
    claim_id bigint NOT NULL,
    communication_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, code_digest),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);

-- A debtor's hour on the claim page. The cookie's value is kept as a hash only.
CREATE TABLE debtor_sessions (
    merchant_id integer NOT NULL,
    session_hash bytea NOT NULL UNIQUE,
    -- The sessionId in events.
    session_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    communication_id uuid,
    -- The channel the link belonged to; none for a code or a direct address.
    channel text CHECK (channel IN ('EMAIL', 'SMS', 'LETTER')),
    -- LINK shows amount, reference and initials; FACT, after a known fact or a letter's code, all.
    level text NOT NULL CHECK (level IN ('LINK', 'FACT')),
    opened_at timestamptz NOT NULL,
    -- Real time.
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (merchant_id, session_hash),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
CREATE INDEX debtor_sessions_expiry ON debtor_sessions (expires_at);

-- Wrong codes, counted per visitor's address (as a keyed digest) and quarter of an hour, and over
-- the whole installation: they belong to no merchant, as a wrong code names none.
CREATE TABLE code_attempts (
    visitor_digest bytea NOT NULL,
    window_start timestamptz NOT NULL,
    failures integer NOT NULL,
    PRIMARY KEY (visitor_digest, window_start)
);

CREATE TABLE payment_requests (
    merchant_id integer NOT NULL,
    -- The paymentRequestId in events, and the key at the provider.
    request_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    provider text NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    currency text NOT NULL,
    reference text NOT NULL,
    -- CREATED: the provider does not know of it yet. OPEN: the debtor was handed off. PENDING: the
    -- debtor is done, the money is under way.
    state text NOT NULL CHECK (state IN
        ('CREATED', 'OPEN', 'PENDING', 'COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED')),
    provider_reference text,
    checkout_url text,
    created_at timestamptz NOT NULL,
    settled_at timestamptz,
    -- Real time of the next look at the provider; none once it is settled.
    next_check_at timestamptz,
    checks integer NOT NULL DEFAULT 0,
    PRIMARY KEY (merchant_id, request_id),
    UNIQUE (provider, provider_reference),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
-- A double click finds the open request: there is one for each claim and provider.
CREATE UNIQUE INDEX payment_requests_one_open ON payment_requests (merchant_id, claim_id, provider)
    WHERE state IN ('CREATED', 'OPEN', 'PENDING');
-- A claim's newest request, for its page.
CREATE INDEX payment_requests_claim ON payment_requests (merchant_id, claim_id, created_at);
CREATE INDEX payment_requests_check ON payment_requests (merchant_id, next_check_at)
    WHERE next_check_at IS NOT NULL;

ALTER TABLE payments ADD COLUMN request_id uuid;
ALTER TABLE payments ADD FOREIGN KEY (merchant_id, request_id) REFERENCES payment_requests;
-- A request is paid once.
CREATE UNIQUE INDEX payments_request ON payments (merchant_id, request_id)
    WHERE request_id IS NOT NULL;

-- What the sandbox provider, a twin of those outside, knows of its checkouts.
CREATE TABLE sandbox_checkouts (
    merchant_id integer NOT NULL,
    checkout_id uuid NOT NULL,
    -- The caller's key: the same key is the same checkout.
    request_id uuid NOT NULL,
    amount_cents bigint NOT NULL,
    currency text NOT NULL,
    reference text NOT NULL,
    description text NOT NULL,
    return_url text NOT NULL,
    notice_url text NOT NULL,
    state text NOT NULL CHECK (state IN ('OPEN', 'PENDING', 'SUCCEEDED', 'FAILED', 'CANCELLED')),
    transaction_id text,
    -- Real time of the last decision on the page.
    decided_at timestamptz,
    -- Notices still to be sent, and when (real time).
    notices_due integer NOT NULL DEFAULT 0,
    notice_at timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, checkout_id),
    UNIQUE (merchant_id, request_id)
);
CREATE INDEX sandbox_checkouts_notices ON sandbox_checkouts (notice_at) WHERE notices_due > 0;
