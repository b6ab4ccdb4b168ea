-- Tables of accounts: the installation and its alerts, merchants and their credentials, users.

-- The installation --------------------------------------------------------------------------------

-- Each installation file that was applied, unchanged. The newest revision is in force.
CREATE TABLE installation_revisions (
    revision integer PRIMARY KEY CHECK (revision > 0),
    document jsonb NOT NULL,
    applied_at timestamptz NOT NULL,
    applied_by text NOT NULL
);

-- Secrets of the installation file, encrypted with the secret key. The file itself only names the
-- sources they were read from.
CREATE TABLE installation_secrets (
    -- The place in the file, such as "deliveryProviders/post/credentials/passwordFile".
    name text PRIMARY KEY,
    sealed bytea NOT NULL,
    set_at timestamptz NOT NULL
);

-- The audit log of what belongs to no merchant: sign-ins, users, keys, the installation file. Real
-- time.
CREATE TABLE installation_audit (
    audit_id uuid PRIMARY KEY,
    at timestamptz NOT NULL,
    -- VISITOR: somebody who has not signed in.
    actor_kind text NOT NULL CHECK (actor_kind IN ('SYSTEM', 'OPERATOR', 'USER', 'VISITOR')),
    actor_id text,
    action text NOT NULL,
    subject text NOT NULL,
    before jsonb,
    after jsonb,
    -- Where the action came from, such as the browser and the network.
    origin jsonb,
    -- The number of the seal that covers this row. New rows are sealed after some seconds.
    seal bigint,
    -- The row's own keyed digest, so that a changed row can be named.
    digest bytea
);
CREATE INDEX installation_audit_actor ON installation_audit (actor_id, audit_id);
CREATE INDEX installation_audit_subject ON installation_audit (subject, audit_id);
-- The rows of one seal, for verifying it.
CREATE INDEX installation_audit_seal ON installation_audit (seal) WHERE seal IS NOT NULL;
-- The rows that the next seal will cover.
CREATE INDEX installation_audit_unsealed ON installation_audit (audit_id) WHERE seal IS NULL;

-- The chain of seals of the audit log above: the digest of each seal covers its rows and the digest
-- of the seal before it, like a merchant's ledger_seals.
CREATE TABLE installation_seals (
    seal bigint PRIMARY KEY,
    -- The number of rows that the seal covers.
    audits integer NOT NULL,
    digest bytea NOT NULL,
    -- Real time.
    sealed_at timestamptz NOT NULL,
    key_version smallint NOT NULL
);

-- Addresses of private networks that forwarded requests without being trusted proxies: probably
-- proxies that the operator forgot to configure. Visitors' addresses are not stored here.
CREATE TABLE unconfigured_proxies (
    address text PRIMARY KEY,
    seen_at timestamptz NOT NULL
);

-- Alerts of the installation over all merchants: conditions that need a person. Real time.
CREATE TABLE alerts (
    alert_id uuid PRIMARY KEY,
    kind text NOT NULL,
    -- What the alert is about: a delivery provider, a provider and a domain, or a merchant's
    -- number. Empty: the installation.
    subject text NOT NULL,
    -- The size of the problem and since when; no personal data.
    figures jsonb NOT NULL,
    began_at timestamptz NOT NULL,
    -- When the condition was last observed.
    seen_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- True for something that happened once and does not last.
    is_event boolean NOT NULL DEFAULT false,
    CHECK (ended_at >= began_at),
    CHECK (NOT is_event OR ended_at IS NOT NULL)
);
-- At most one active alert for each kind and subject.
CREATE UNIQUE INDEX alerts_active ON alerts (kind, subject) WHERE ended_at IS NULL;
-- A single event raises one alert only.
CREATE UNIQUE INDEX alerts_once ON alerts (kind, subject) WHERE is_event;
-- For deleting old alerts.
CREATE INDEX alerts_ended ON alerts (ended_at) WHERE ended_at IS NOT NULL;

-- The notifications about an alert, each sent once: its beginning, each reminder, and its end.
CREATE TABLE alert_notifications (
    alert_id uuid NOT NULL REFERENCES alerts ON DELETE CASCADE,
    number integer NOT NULL CHECK (number > 0),
    phase text NOT NULL CHECK (phase IN ('BEGAN', 'LASTS', 'OVER')),
    sent_at timestamptz NOT NULL,
    PRIMARY KEY (alert_id, number),
    CHECK ((phase = 'BEGAN') = (number = 1))
);
-- The end of an alert is notified once.
CREATE UNIQUE INDEX alert_notifications_ended ON alert_notifications (alert_id) WHERE phase = 'OVER';

-- E-mails to operators about alerts and to users about their account, one row for each address.
CREATE TABLE staff_emails (
    email_id uuid PRIMARY KEY,
    recipient text NOT NULL,
    subject text NOT NULL,
    body text NOT NULL,
    created_at timestamptz NOT NULL,
    -- HANDED_OVER: the e-mail may have been sent. UNKNOWN: it is not known whether it was sent; it
    -- is not sent again.
    state text NOT NULL DEFAULT 'PLANNED'
        CHECK (state IN ('PLANNED', 'HANDED_OVER', 'ACCEPTED', 'FAILED', 'UNKNOWN')),
    attempts integer NOT NULL DEFAULT 0,
    -- When it is sent next, or given up because no answer came. Null when it is finished.
    due_at timestamptz,
    language text NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'de')),
    CHECK ((due_at IS NOT NULL) = (state IN ('PLANNED', 'HANDED_OVER')))
);
CREATE INDEX staff_emails_due ON staff_emails (due_at) WHERE due_at IS NOT NULL;
-- For deleting old e-mails.
CREATE INDEX staff_emails_created ON staff_emails (created_at);

-- When a worker last looked for alert conditions; a single row.
CREATE TABLE alert_checks (
    watch smallint PRIMARY KEY CHECK (watch = 1),
    checked_at timestamptz NOT NULL
);

-- Merchants ---------------------------------------------------------------------------------------

CREATE TABLE merchants (
    merchant_id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    -- The name in addresses and files, such as "nordwind".
    key text NOT NULL UNIQUE,
    name text NOT NULL,
    sandbox boolean NOT NULL,
    -- False while the merchant still works with scenarios instead of versioned workflows.
    switched_to_workflows boolean NOT NULL,
    configuration jsonb NOT NULL,
    -- Raised by every change of configuration, rules or workflows; caches use it as their key.
    revision integer NOT NULL DEFAULT 1,
    -- The sandbox merchant's test clock, which stands still until it is moved.
    sandbox_now timestamptz,
    created_at timestamptz NOT NULL,
    CHECK (sandbox = (sandbox_now IS NOT NULL))
);
CREATE INDEX merchants_sandbox ON merchants (merchant_id) WHERE sandbox;

-- API credentials of a merchant's programs.
CREATE TABLE credentials (
    merchant_id integer NOT NULL REFERENCES merchants,
    credential_id uuid NOT NULL,
    name text NOT NULL,
    client_id text NOT NULL UNIQUE,
    requests_per_minute integer NOT NULL DEFAULT 600 CHECK (requests_per_minute > 0),
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (merchant_id, credential_id),
    UNIQUE (merchant_id, name)
);

-- Client secrets, as hashes. During a rotation a credential has two.
CREATE TABLE credential_secrets (
    merchant_id integer NOT NULL,
    credential_id uuid NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    -- Set when a newer secret was created; both work until then.
    expires_at timestamptz,
    PRIMARY KEY (merchant_id, credential_id, secret_hash),
    FOREIGN KEY (merchant_id, credential_id) REFERENCES credentials
);

-- The merchants at which a credential may be used, its own included.
CREATE TABLE credential_grants (
    merchant_id integer NOT NULL REFERENCES merchants,
    -- The merchant that owns the credential.
    owner_id integer NOT NULL,
    credential_id uuid NOT NULL,
    granted_at timestamptz NOT NULL,
    -- What the credential may do at this merchant.
    scopes text[] NOT NULL
        CHECK (cardinality(scopes) > 0 AND scopes <@ '{READ,CLAIMS,MONEY,ALL}'),
    PRIMARY KEY (merchant_id, owner_id, credential_id),
    FOREIGN KEY (owner_id, credential_id) REFERENCES credentials
);

CREATE TABLE access_tokens (
    merchant_id integer NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    credential_id uuid NOT NULL,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, token_hash),
    FOREIGN KEY (merchant_id, credential_id) REFERENCES credentials
);
-- For deleting expired tokens.
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);

-- The rate limit of a credential: how many of a minute's requests the processes have reserved. Each
-- process reserves several at a time.
CREATE TABLE request_quotas (
    merchant_id integer NOT NULL,
    credential_id uuid NOT NULL,
    minute timestamptz NOT NULL,
    reserved integer NOT NULL,
    PRIMARY KEY (merchant_id, credential_id, minute),
    FOREIGN KEY (merchant_id, credential_id) REFERENCES credentials
);

-- The answers to API requests with an idempotency key: the same request gets the same answer.
CREATE TABLE idempotency_keys (
    merchant_id integer NOT NULL REFERENCES merchants,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    status smallint NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, key)
);
-- For deleting old keys.
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- A merchant's audit log: who did what, to what, from where.
CREATE TABLE audit_log (
    merchant_id integer NOT NULL REFERENCES merchants,
    audit_id uuid NOT NULL,
    at timestamptz NOT NULL,
    actor_kind text NOT NULL
        CHECK (actor_kind IN ('SYSTEM', 'OPERATOR', 'CREDENTIAL', 'USER', 'DEBTOR')),
    actor_id text,
    action text NOT NULL,
    subject text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}',
    -- The number of the seal (ledger_seals) that covers this row, and the row's own keyed digest.
    seal bigint,
    digest bytea,
    -- The changed fields before and after, with personal data masked.
    before jsonb,
    after jsonb,
    -- Where the action came from, such as the browser and the network.
    origin jsonb,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, audit_id)
);
-- The whole log, and the log of a subject, an action or a person. Creations of claims are left out
-- where possible because they are most of all rows: creating a claim writes to no further index.
CREATE INDEX audit_log_list ON audit_log (merchant_id, written_by, audit_id);
CREATE INDEX audit_log_list_of_subject
    ON audit_log (merchant_id, subject, written_by, audit_id) WHERE action <> 'claims.create';
CREATE INDEX audit_log_list_of_action
    ON audit_log (merchant_id, action, written_by, audit_id) WHERE action <> 'claims.create';
CREATE INDEX audit_log_list_of_person
    ON audit_log (merchant_id, actor_id, written_by, audit_id)
    WHERE actor_kind IN ('USER', 'OPERATOR');
-- The rows of one seal, for verifying it, and the rows that the next seal will cover.
CREATE INDEX audit_log_seal ON audit_log (merchant_id, seal) WHERE seal IS NOT NULL;
CREATE INDEX audit_log_unsealed ON audit_log (merchant_id, audit_id) WHERE seal IS NULL;

-- Users -------------------------------------------------------------------------------------------

-- The users of the portal. A user belongs to the installation; memberships say what they may do at
-- a merchant. Users are never deleted, because other rows refer to what they did: a user who was
-- ended cannot sign in.
CREATE TABLE users (
    user_id uuid PRIMARY KEY,
    -- The address as it was typed, and in the form in which addresses are compared.
    email text NOT NULL,
    email_key text NOT NULL UNIQUE,
    name text NOT NULL,
    language text NOT NULL CHECK (language IN ('en', 'de')),
    -- A role at all merchants.
    global_role text CHECK (global_role IN ('ADMIN', 'OPERATOR', 'AUDITOR')),
    -- argon2id. Null when no password was chosen yet, or a passkey is used instead.
    password_hash text,
    password_changed_at timestamptz,
    created_at timestamptz NOT NULL,
    -- When a password or a passkey was first set up.
    joined_at timestamptz,
    ended_at timestamptz,
    -- Raised by every change of role, merchants or name; detects conflicting edits.
    revision integer NOT NULL DEFAULT 1,
    -- True for an administrator who signs in with a password when single sign-on is not available.
    is_break_glass boolean NOT NULL DEFAULT false,
    -- Set after ten wrong codes: until a new password or a reset, codes are accepted only from a
    -- browser in which the user has signed in before.
    second_factor_locked_at timestamptz
);

-- The role of a user at one merchant.
CREATE TABLE memberships (
    merchant_id integer NOT NULL REFERENCES merchants,
    user_id uuid NOT NULL REFERENCES users,
    role text NOT NULL CHECK (role IN ('OPERATOR', 'AUDITOR', 'MERCHANT_USER')),
    PRIMARY KEY (merchant_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

-- What a user proves their identity with beside the password: one authenticator app, or passkeys.
CREATE TABLE authentication_factors (
    factor_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    kind text NOT NULL CHECK (kind IN ('TOTP', 'PASSKEY')),
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    -- Null until the app's first code was entered: the factor cannot be used before.
    confirmed_at timestamptz,
    last_used_at timestamptz,
    -- Authenticator app: its encrypted secret, and the time step of the last code that was
    -- accepted. Only codes of later steps are accepted.
    secret_sealed bytea,
    last_step bigint NOT NULL DEFAULT 0,
    -- Passkey.
    credential_id bytea UNIQUE,
    public_key bytea,
    sign_count bigint NOT NULL DEFAULT 0,
    CHECK ((kind = 'TOTP') = (secret_sealed IS NOT NULL)),
    CHECK ((kind = 'PASSKEY') = (credential_id IS NOT NULL AND public_key IS NOT NULL))
);
CREATE INDEX authentication_factors_user ON authentication_factors (user_id);
-- A user has one confirmed app, and at most one more that is being set up.
CREATE UNIQUE INDEX authentication_factors_one_app ON authentication_factors (user_id, (confirmed_at IS NULL))
    WHERE kind = 'TOTP';

CREATE TABLE recovery_codes (
    user_id uuid NOT NULL REFERENCES users,
    code_hash bytea NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (user_id, code_hash)
);

-- Wrong codes of an app and wrong recovery codes after a correct password. They count for 24 hours;
-- a new password, a reset and the daily cleanup delete them.
CREATE TABLE second_factor_failures (
    failure_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    failed_at timestamptz NOT NULL,
    -- Set when the code came from a browser in which the user has signed in before: the hash of the
    -- secret in that browser's cookie.
    device_hash bytea
);
CREATE INDEX second_factor_failures_user ON second_factor_failures (user_id, failed_at);
CREATE INDEX second_factor_failures_age ON second_factor_failures (failed_at);

-- One-time links that invite a user or reset their access. Only the newest one of a user is valid.
CREATE TABLE invitations (
    invitation_hash bytea PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE INDEX invitations_user ON invitations (user_id);

-- Sign-ins that have passed the password and wait for the second factor.
CREATE TABLE pending_sign_ins (
    sign_in_hash bytea PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    opened_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX pending_sign_ins_expiry ON pending_sign_ins (expires_at);

-- Sessions of the portal. The cookie's token is stored as a hash.
CREATE TABLE portal_sessions (
    session_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL UNIQUE,
    user_id uuid NOT NULL REFERENCES users,
    opened_at timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- How the user signed in. TOTP and RECOVERY follow a password. PASSWORD: the session replaces
    -- the one in which the password was changed.
    opened_by text NOT NULL CHECK (
        opened_by IN ('TOTP', 'RECOVERY', 'PASSKEY', 'INVITATION', 'PASSWORD', 'PROVIDER')
    ),
    -- The network it was opened from: as a keyed digest for comparison, and as the user sees it.
    network_digest bytea NOT NULL,
    network text,
    browser text NOT NULL,
    is_new_network boolean NOT NULL,
    -- Recovery codes that were created in this session are shown in it until recovery_codes_until.
    recovery_codes_id uuid,
    recovery_codes_until timestamptz,
    -- The hash of the secret in the browser's device cookie, by which a browser is recognised
    -- later. It is deleted with the row, or when the user ends all sessions.
    device_hash bytea,
    -- The hash of the identity provider's own session, if the provider named one.
    provider_session bytea,
    -- When the user last proved who they are: by signing in here, or again by password, passkey or
    -- identity provider. Null after a plain single sign-on, where the provider may have asked
    -- nothing.
    confirmed_at timestamptz
);
CREATE INDEX portal_sessions_user ON portal_sessions (user_id, opened_at);
CREATE INDEX portal_sessions_expiry ON portal_sessions (expires_at);
CREATE INDEX portal_sessions_device ON portal_sessions (device_hash) WHERE device_hash IS NOT NULL;
CREATE INDEX portal_sessions_provider ON portal_sessions (provider_session)
    WHERE provider_session IS NOT NULL;

-- Challenges that a passkey has to sign. A challenge is deleted when it is used.
CREATE TABLE passkey_challenges (
    challenge bytea PRIMARY KEY,
    -- CONFIRM: a signed-in user confirms who they are.
    purpose text NOT NULL CHECK (purpose IN ('SIGN_IN', 'ENROL', 'CONFIRM')),
    user_id uuid REFERENCES users,
    expires_at timestamptz NOT NULL,
    CHECK ((purpose = 'SIGN_IN') = (user_id IS NULL))
);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
-- Only the newest challenges of a user are kept.
CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id) WHERE user_id IS NOT NULL;

-- What a user had typed into a form when the session ended, until the same user signs in again.
-- Passwords, codes and secrets are never among the fields.
CREATE TABLE interrupted_forms (
    user_id uuid NOT NULL REFERENCES users,
    -- Path and query of the form's page.
    address text NOT NULL,
    fields jsonb NOT NULL,
    saved_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, address)
);
CREATE INDEX interrupted_forms_expiry ON interrupted_forms (expires_at);

-- Single sign-on ----------------------------------------------------------------------------------

-- How an identity provider knows a user: by issuer and subject, never by e-mail address, because an
-- address may pass to another person. The row stays when the user is ended, so that a sign-in at
-- the provider does not bring the user back.
CREATE TABLE user_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL UNIQUE REFERENCES users,
    -- The provider's name in the installation file at the last sign-in.
    provider text NOT NULL,
    known_since timestamptz NOT NULL,
    last_seen_at timestamptz,
    PRIMARY KEY (issuer, subject)
);

-- Browsers that were sent to an identity provider and may come back once. The key is the hash of a
-- cookie; state, nonce and PKCE verifier are derived from the cookie and the secret key.
CREATE TABLE single_sign_on_attempts (
    attempt_hash bytea PRIMARY KEY,
    provider text NOT NULL,
    -- The portal page that was asked for.
    next_page text NOT NULL,
    expires_at timestamptz NOT NULL,
    -- The session that the user wants to confirm. Null for a sign-in.
    confirms_session uuid,
    started_at timestamptz
);
CREATE INDEX single_sign_on_attempts_expiry ON single_sign_on_attempts (expires_at);

-- Logouts reported by an identity provider, each once. They are kept as long as a sign-in that had
-- already started could still end after the logout. All hashes: of the token's id, the provider's
-- session and the subject.
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
