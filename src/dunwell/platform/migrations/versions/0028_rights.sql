-- What a credential may do at the merchant it reaches; those that are there go on as they did.
ALTER TABLE credential_reach ADD COLUMN scopes text[] NOT NULL DEFAULT '{ALL}'
    CHECK (cardinality(scopes) > 0 AND scopes <@ '{READ,CLAIMS,MONEY,ALL}');

-- By field, personal ones masked; where it was done from. None of rows that are there already.
ALTER TABLE audit_log
    ADD COLUMN before jsonb,
    ADD COLUMN after jsonb,
    ADD COLUMN origin jsonb;

-- What is of no merchant: sign-ins, people, keys, the installation file.
CREATE TABLE installation_audit (
    audit_id uuid PRIMARY KEY,
    -- Real time.
    at timestamptz NOT NULL,
    -- A visitor is whoever has not signed in.
    actor_kind text NOT NULL CHECK (actor_kind IN ('SYSTEM', 'OPERATOR', 'USER', 'VISITOR')),
    actor_id text,
    action text NOT NULL,
    subject text NOT NULL,
    before jsonb,
    after jsonb,
    origin jsonb,
    -- Which seal covers it; none for some seconds.
    seal bigint,
    digest bytea
);
CREATE INDEX installation_audit_subject ON installation_audit (subject, audit_id);
CREATE INDEX installation_audit_actor ON installation_audit (actor_id, audit_id);
CREATE INDEX installation_audit_unsealed ON installation_audit (audit_id) WHERE seal IS NULL;
CREATE INDEX installation_audit_seal ON installation_audit (seal) WHERE seal IS NOT NULL;

-- The chain of its seals, as a merchant's ledger has one.
CREATE TABLE installation_seals (
    seal bigint PRIMARY KEY,
    audits integer NOT NULL,
    digest bytea NOT NULL,
    -- Real time.
    sealed_at timestamptz NOT NULL,
    -- Of the secret key.
    key_version smallint NOT NULL
);
