-- An admin of Dunwell's own who signs in when the provider of single sign-on is away.
ALTER TABLE users ADD COLUMN is_break_glass boolean NOT NULL DEFAULT false;

-- By whom a provider of single sign-on knows a user: never by an e-mail address, which may change
-- hands. It stays when its user is ended, so that the provider alone does not bring them back.
CREATE TABLE user_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL UNIQUE REFERENCES users,
    -- Of the installation file, as it was called at the last sign-in.
    provider text NOT NULL,
    known_since timestamptz NOT NULL,
    last_seen_at timestamptz,
    PRIMARY KEY (issuer, subject)
);

-- Somebody who was sent to a provider and is to come back, once, with the cookie whose hash this
-- is. State, nonce and PKCE verifier are derived from the cookie's secret and the secret key.
CREATE TABLE single_sign_on_attempts (
    attempt_hash bytea PRIMARY KEY,
    provider text NOT NULL,
    -- The page of ours that was asked for.
    next_page text NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX single_sign_on_attempts_expiry ON single_sign_on_attempts (expires_at);

-- Logouts that a provider told, each once; kept while a sign-in that was under way could end after
-- it. Hashes of the token's id, the provider's session and the subject.
CREATE TABLE provider_logouts (
    issuer text NOT NULL,
    token_hash bytea NOT NULL,
    session_hash bytea,
    subject_hash bytea,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, token_hash),
    CHECK (session_hash IS NOT NULL OR subject_hash IS NOT NULL)
);
CREATE INDEX provider_logouts_expiry ON provider_logouts (expires_at);

ALTER TABLE portal_sessions DROP CONSTRAINT portal_sessions_opened_by_check;
ALTER TABLE portal_sessions ADD CONSTRAINT portal_sessions_opened_by_check CHECK (
    opened_by IN ('TOTP', 'RECOVERY', 'PASSKEY', 'INVITATION', 'PASSWORD', 'PROVIDER')
);
-- A hash of the provider's own session, where it told one.
ALTER TABLE portal_sessions ADD COLUMN provider_session bytea;
CREATE INDEX portal_sessions_provider ON portal_sessions (provider_session)
    WHERE provider_session IS NOT NULL;
