-- Who works with the portal. A user is the installation's; a membership says what they are at a
-- merchant. Nobody is deleted while others refer to what they did: an ended user signs in no more.
CREATE TABLE users (
    user_id uuid PRIMARY KEY,
    -- As it was typed, and as it is compared.
    email text NOT NULL,
    email_key text NOT NULL UNIQUE,
    name text NOT NULL,
    language text NOT NULL CHECK (language IN ('en', 'de')),
    -- A role over all merchants.
    everywhere text CHECK (everywhere IN ('ADMIN', 'OPERATOR', 'AUDITOR')),
    -- argon2id; none: not chosen yet, or a passkey is used instead.
    password_hash text,
    password_changed_at timestamptz,
    created_at timestamptz NOT NULL,
    -- The first time that a password or a passkey was set up.
    joined_at timestamptz,
    ended_at timestamptz,
    -- Raised by every change of role, merchants or name, which is compared with it.
    revision integer NOT NULL DEFAULT 1
);

CREATE TABLE memberships (
    merchant_id integer NOT NULL REFERENCES merchants,
    user_id uuid NOT NULL REFERENCES users,
    role text NOT NULL CHECK (role IN ('OPERATOR', 'AUDITOR', 'MERCHANT_USER')),
    PRIMARY KEY (merchant_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

-- What somebody has or knows beside the password: one authenticator app, or passkeys.
CREATE TABLE factors (
    factor_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    kind text NOT NULL CHECK (kind IN ('TOTP', 'PASSKEY')),
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    -- None: the app's first code has not come yet, so that it opens nothing.
    confirmed_at timestamptz,
    last_used_at timestamptz,
    -- Of an app: its secret, and the last step of which a code was taken. A later one is good.
    secret_sealed bytea,
    last_step bigint NOT NULL DEFAULT 0,
    -- Of a passkey.
    credential_id bytea UNIQUE,
    public_key bytea,
    sign_count bigint NOT NULL DEFAULT 0,
    CHECK ((kind = 'TOTP') = (secret_sealed IS NOT NULL)),
    CHECK ((kind = 'PASSKEY') = (credential_id IS NOT NULL AND public_key IS NOT NULL))
);
CREATE INDEX factors_user ON factors (user_id);
CREATE UNIQUE INDEX factors_one_app ON factors (user_id, (confirmed_at IS NULL))
    WHERE kind = 'TOTP';

CREATE TABLE recovery_codes (
    user_id uuid NOT NULL REFERENCES users,
    code_hash bytea NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (user_id, code_hash)
);

CREATE TABLE portal_sessions (
    session_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL UNIQUE,
    user_id uuid NOT NULL REFERENCES users,
    opened_at timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- By what it was opened: an app's code or a recovery code behind a password, a passkey, an
    -- invitation; or it goes on from one in which the password was changed.
    opened_by text NOT NULL CHECK (
        opened_by IN ('TOTP', 'RECOVERY', 'PASSKEY', 'INVITATION', 'PASSWORD')
    ),
    -- Where from: a keyed digest of the network to compare, and as it is shown to its user.
    place_digest bytea NOT NULL,
    place text,
    browser text NOT NULL,
    is_new_place boolean NOT NULL,
    -- Recovery codes that were made in it are shown in it for a while: which, and until when.
    codes_id uuid,
    codes_until timestamptz
);
CREATE INDEX portal_sessions_user ON portal_sessions (user_id, opened_at);
CREATE INDEX portal_sessions_expiry ON portal_sessions (expires_at);

-- A right password that waits for the second factor.
CREATE TABLE portal_entries (
    entry_hash bytea PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    opened_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX portal_entries_expiry ON portal_entries (expires_at);

-- What a passkey is asked to sign. Taking it removes it.
CREATE TABLE passkey_challenges (
    challenge bytea PRIMARY KEY,
    purpose text NOT NULL CHECK (purpose IN ('SIGN_IN', 'ENROL')),
    user_id uuid REFERENCES users,
    expires_at timestamptz NOT NULL,
    CHECK ((purpose = 'ENROL') = (user_id IS NOT NULL))
);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);

-- One-time links. The newest of a user counts alone.
CREATE TABLE invitations (
    invitation_hash bytea PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE INDEX invitations_user ON invitations (user_id);
