-- By what a browser is known that somebody has signed in with: a hash of the secret in its cookie.
-- It goes with the session's row, or when its user ends all that was open.
ALTER TABLE portal_sessions ADD COLUMN device_hash bytea;
-- Of one user's passkeys that are being made, the newest are kept.
CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX portal_sessions_device ON portal_sessions (device_hash) WHERE device_hash IS NOT NULL;
