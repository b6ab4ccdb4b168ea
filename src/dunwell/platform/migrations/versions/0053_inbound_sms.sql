-- Messages that people wrote to lines, each once. Real time.
CREATE TABLE inbound_sms (
    inbound_id uuid PRIMARY KEY,
    line text NOT NULL,
    provider_id text NOT NULL,
    sender text NOT NULL,
    recipient text NOT NULL,
    text text NOT NULL,
    received_at timestamptz NOT NULL,
    -- STOP: the number was suppressed. REPLY: of one claim, for certain. UNMATCHED: a person looks.
    kind text NOT NULL CHECK (kind IN ('STOP', 'REPLY', 'UNMATCHED')),
    merchant_id integer,
    claim_id bigint,
    CHECK ((kind = 'REPLY') = (claim_id IS NOT NULL)),
    CHECK ((merchant_id IS NULL) = (claim_id IS NULL)),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CONSTRAINT inbound_sms_once UNIQUE (line, provider_id)
);
CREATE INDEX inbound_sms_received ON inbound_sms (received_at);
CREATE INDEX inbound_sms_claim ON inbound_sms (merchant_id, claim_id) WHERE claim_id IS NOT NULL;
