-- The debtor's pages whole.

-- Notices --------------------------------------------------------------------------------------

-- Messages a debtor asked for: codes, links, receipts, confirmations. All instants but dated_at are
-- real time.
CREATE TABLE debtor_notices (
    merchant_id integer NOT NULL,
    -- The key outside; its link's token and its code are derived from it.
    notice_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN
        ('CODE', 'LINK', 'RECEIPT', 'CONFIRMATION', 'CHANGE_CODE', 'CHANGE_NOTICE')),
    channel text NOT NULL CHECK (channel IN ('EMAIL', 'SMS')),
    -- With masks for token and code. Emptied some days after it is settled.
    recipient text,
    -- Keyed; of what anybody may ask for, so that one address gets little of it. Goes with the rest.
    recipient_digest bytea,
    language text NOT NULL,
    subject text,
    body_text text,
    body_html text,
    state text NOT NULL DEFAULT 'PLANNED' CHECK (state IN
        ('PLANNED', 'HANDED_OVER', 'ACCEPTED', 'FAILED', 'UNKNOWN')),
    -- When it is to be sent; of one handed over, when its lease ends. None once it is settled.
    due_at timestamptz,
    lease_id uuid,
    tries integer NOT NULL DEFAULT 0,
    -- The merchant's time; the date the message bears.
    dated_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    -- Not sent after.
    expires_at timestamptz NOT NULL,
    settled_at timestamptz,
    failure text,
    PRIMARY KEY (merchant_id, notice_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((settled_at IS NULL) = (state IN ('PLANNED', 'HANDED_OVER'))),
    CHECK ((due_at IS NULL) = (settled_at IS NOT NULL)),
    CHECK (settled_at IS NOT NULL OR (recipient IS NOT NULL AND body_text IS NOT NULL))
);
CREATE INDEX debtor_notices_due ON debtor_notices (due_at) WHERE due_at IS NOT NULL;
-- A claim's newest of a kind: there are so many in an hour and no more.
CREATE INDEX debtor_notices_claim ON debtor_notices (merchant_id, claim_id, kind, created_at);
-- What was asked for at one address, over all merchants.
CREATE INDEX debtor_notices_recipient ON debtor_notices (recipient_digest, created_at)
    WHERE recipient_digest IS NOT NULL;
-- Those still to be emptied.
CREATE INDEX debtor_notices_settled ON debtor_notices (settled_at)
    WHERE settled_at IS NOT NULL AND recipient IS NOT NULL;

-- The notice that brought a link the debtor asked for: it belongs to no communication.
ALTER TABLE debtor_links ADD COLUMN notice_id uuid;
ALTER TABLE debtor_links ADD FOREIGN KEY (merchant_id, notice_id) REFERENCES debtor_notices
    ON DELETE CASCADE;
CREATE INDEX debtor_links_notice ON debtor_links (merchant_id, notice_id)
    WHERE notice_id IS NOT NULL;

-- Ways in --------------------------------------------------------------------------------------

-- CODE: after a code sent to the address on file; contact data can be changed.
ALTER TABLE debtor_sessions DROP CONSTRAINT debtor_sessions_level_check;
ALTER TABLE debtor_sessions ADD CONSTRAINT debtor_sessions_level_check
    CHECK (level IN ('LINK', 'FACT', 'CODE'));

-- Links a visitor asked for, which are limited as wrong codes are.
ALTER TABLE code_attempts ADD COLUMN requests integer NOT NULL DEFAULT 0;

-- Wrong facts (postal code, birth date, numbers) of a claim, counted under the row's lock.
CREATE TABLE debtor_fact_tries (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    failures integer NOT NULL,
    -- Real time, as all of this section.
    first_at timestamptz NOT NULL,
    locked_until timestamptz,
    PRIMARY KEY (merchant_id, claim_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);

-- A claim's one live code of six digits, which is derived from the notice that took it along.
CREATE TABLE debtor_sent_codes (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    notice_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    -- It opened or raised a session; sent once more right after, by a second click, it is no try.
    used_at timestamptz,
    PRIMARY KEY (merchant_id, claim_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);

-- Paying ---------------------------------------------------------------------------------------

-- The items a debtor chose to pay, which the payment pays before the others; none: not chosen.
ALTER TABLE payment_requests ADD COLUMN item_ids bigint[] NOT NULL DEFAULT '{}';
-- Of a bank transfer that a debtor has announced, the day it was sent; its provider is
-- BANK_TRANSFER, which is nobody's to ask.
ALTER TABLE payment_requests ADD COLUMN sent_on date;
-- What a payment was made with, masked by its provider.
ALTER TABLE payments ADD COLUMN method text;

-- Disputes -------------------------------------------------------------------------------------

-- A debtor's evidence: files that were sent with a dispute, or added to it later.
CREATE TABLE dispute_files (
    merchant_id integer NOT NULL,
    dispute_id uuid NOT NULL,
    file_id uuid NOT NULL,
    ticket_id uuid NOT NULL,
    added_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    PRIMARY KEY (merchant_id, dispute_id, file_id),
    FOREIGN KEY (merchant_id, dispute_id) REFERENCES disputes ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, ticket_id) REFERENCES uploads,
    UNIQUE (merchant_id, dispute_id, ticket_id)
);
CREATE INDEX dispute_files_ticket ON dispute_files (merchant_id, ticket_id);

-- What was typed into a form and not sent yet, by session: one draft of a subject at a time.
CREATE TABLE debtor_drafts (
    merchant_id integer NOT NULL,
    -- The sessionId in events, which outlives a change of the cookie.
    session_id uuid NOT NULL,
    -- What the form is about, as dispute:AMOUNT_WRONG.
    subject text NOT NULL,
    claim_id bigint NOT NULL,
    fields jsonb NOT NULL DEFAULT '{}',
    -- The form that was sent last, and what it made: sent again it makes nothing.
    sent_form uuid,
    made_id uuid,
    -- Real time.
    kept_until timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, session_id, subject),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((sent_form IS NULL) = (made_id IS NULL))
);
CREATE INDEX debtor_drafts_claim ON debtor_drafts (merchant_id, claim_id);
CREATE INDEX debtor_drafts_expiry ON debtor_drafts (kept_until);

CREATE TABLE debtor_draft_files (
    merchant_id integer NOT NULL,
    session_id uuid NOT NULL,
    subject text NOT NULL,
    ticket_id uuid NOT NULL,
    PRIMARY KEY (merchant_id, session_id, subject, ticket_id),
    FOREIGN KEY (merchant_id, session_id, subject) REFERENCES debtor_drafts
        ON UPDATE CASCADE ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, ticket_id) REFERENCES uploads ON DELETE CASCADE
);
CREATE INDEX debtor_draft_files_ticket ON debtor_draft_files (merchant_id, ticket_id);

-- Plans and deferments -------------------------------------------------------------------------

-- Answered, and nothing was sent to the debtor about it yet.
ALTER TABLE payment_modalities ADD COLUMN is_untold boolean NOT NULL DEFAULT false;
CREATE INDEX payment_modalities_untold ON payment_modalities (merchant_id, modality_id)
    WHERE is_untold;

-- Preferences ----------------------------------------------------------------------------------

-- A claim's new e-mail address or mobile number, which waits for the code that was sent there.
CREATE TABLE debtor_contact_changes (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    channel text NOT NULL CHECK (channel IN ('EMAIL', 'SMS')),
    address text NOT NULL,
    -- The notice that took the code along, which is derived from it.
    notice_id uuid NOT NULL,
    -- Real time.
    expires_at timestamptz NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    PRIMARY KEY (merchant_id, claim_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
CREATE INDEX debtor_contact_changes_expiry ON debtor_contact_changes (expires_at);
