ALTER TABLE disputes
    -- When a claim's page is shown again after a dispute that withholds it (cases/disputes/reasons.py).
    ADD COLUMN released_at timestamptz,
    -- The address that the dispute has put on the suppression list, under each version of the key.
    ADD COLUMN suppressed_channel text,
    ADD COLUMN suppressed_digests bytea[],
    -- Whom nobody may contact (contact/messages/identities.py), and the version of the key it is made with.
    ADD COLUMN stopped_identities bytea[],
    ADD COLUMN key_version smallint;

-- A reason that is named beside its type was always of type OTHER, and is not any more.
ALTER TABLE disputes DROP CONSTRAINT disputes_check2;
ALTER TABLE disputes ADD CONSTRAINT disputes_reason_check
    CHECK (reason IS NULL OR type = 'OTHER'
           OR (reason = 'WRONG_PERSON' AND type = 'NOT_MY_DEBT')) NOT VALID;

ALTER TABLE suppressions DROP CONSTRAINT suppressions_reason_check;
ALTER TABLE suppressions ADD CONSTRAINT suppressions_reason_check
    CHECK (reason IN ('BOUNCE', 'DEBTOR', 'MERCHANT', 'OPERATOR', 'WRONG_PERSON')) NOT VALID;
