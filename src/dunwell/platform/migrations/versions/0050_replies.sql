-- Answers to our e-mails, each once; they go with their claim.
CREATE TABLE debtor_replies (
    merchant_id integer NOT NULL,
    reply_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    -- The contact or notice it answers.
    communication_id uuid NOT NULL,
    -- The same for one that comes twice.
    provider_id text NOT NULL,
    line text NOT NULL,
    -- The merchant's time.
    received_at timestamptz NOT NULL,
    subject text NOT NULL,
    text text NOT NULL,
    file_names text[] NOT NULL,
    -- A program's, such as "I am away".
    is_automatic boolean NOT NULL,
    -- As it came, sealed with the secret key.
    raw_sealed bytea NOT NULL,
    -- The pause until somebody has looked.
    hold_id uuid,
    -- Who has looked, and when.
    seen_at timestamptz,
    seen_by text,
    PRIMARY KEY (merchant_id, reply_id),
    UNIQUE (merchant_id, provider_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
CREATE INDEX debtor_replies_claim ON debtor_replies (merchant_id, claim_id, received_at);
CREATE INDEX debtor_replies_unseen ON debtor_replies (merchant_id, received_at)
    WHERE seen_at IS NULL AND NOT is_automatic;

-- Up to which message a line's mailbox was read (IMAP). Its numbers hold for one validity alone.
CREATE TABLE mailbox_places (
    line text PRIMARY KEY,
    folder text NOT NULL,
    validity bigint NOT NULL,
    last_uid bigint NOT NULL,
    -- Real time.
    read_at timestamptz NOT NULL
);
