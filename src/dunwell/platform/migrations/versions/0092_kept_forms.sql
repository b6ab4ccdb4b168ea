-- What a user had typed into a form when the session ended, until the same user has signed in again.
-- Passwords, codes and secrets are never among the fields.
CREATE TABLE kept_forms (
    user_id uuid NOT NULL REFERENCES users,
    -- Path and query of the form's page.
    address text NOT NULL,
    fields jsonb NOT NULL,
    kept_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, address)
);
CREATE INDEX kept_forms_expiry ON kept_forms (expires_at);
