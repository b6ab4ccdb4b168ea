-- When the session's user last proved who they are: by signing in here, or again by password, by
-- passkey or at the provider of single sign-on. None: they came by single sign-on, where the
-- provider may have asked for nothing.
ALTER TABLE portal_sessions ADD COLUMN confirmed_at timestamptz;

-- A passkey can also be asked to confirm a session.
ALTER TABLE passkey_challenges DROP CONSTRAINT passkey_challenges_purpose_check;
ALTER TABLE passkey_challenges ADD CONSTRAINT passkey_challenges_purpose_check CHECK (
    purpose IN ('SIGN_IN', 'ENROL', 'CONFIRM')
);
ALTER TABLE passkey_challenges DROP CONSTRAINT passkey_challenges_check;
ALTER TABLE passkey_challenges ADD CONSTRAINT passkey_challenges_check CHECK (
    (purpose = 'SIGN_IN') = (user_id IS NULL)
);

-- The session that is to be confirmed; None: the attempt is a sign-in.
ALTER TABLE single_sign_on_attempts ADD COLUMN confirms_session uuid;
ALTER TABLE single_sign_on_attempts ADD COLUMN started_at timestamptz;
