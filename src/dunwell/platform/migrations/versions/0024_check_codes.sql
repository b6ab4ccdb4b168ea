-- What e-mails and texts can be checked by. Forty bits may be those of two messages.
CREATE TABLE check_codes (
    merchant_id integer NOT NULL,
    -- A communication's or a notice's.
    message_id uuid NOT NULL,
    code_digest bytea NOT NULL,
    claim_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    -- Of the secret key that code and digest are made with.
    key_version smallint NOT NULL,
    PRIMARY KEY (merchant_id, message_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
-- A code that was typed names no merchant.
CREATE INDEX check_codes_digest ON check_codes (code_digest);
-- Erased with their claim.
CREATE INDEX check_codes_claim ON check_codes (merchant_id, claim_id);
