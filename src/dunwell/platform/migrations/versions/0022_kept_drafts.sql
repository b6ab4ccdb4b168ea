-- What was typed and not sent belongs to the claim: `session_id` is then the claim's number as an id.
-- What only the one who typed it may see again stays with the session, as before.
COMMENT ON COLUMN debtor_drafts.session_id IS
    'Whose it is: the claim''s (its number as an id), or the session''s that typed it.';
ALTER TABLE debtor_drafts
    -- Raised by each change: a form says which one it was made of.
    ADD COLUMN revision integer NOT NULL DEFAULT 0,
    -- What others typed meanwhile, and nobody has chosen among yet: objects as `fields`.
    ADD COLUMN others jsonb NOT NULL DEFAULT '[]';

ALTER TABLE debtor_sessions
    -- When the first of the sessions that this one goes on from was opened; none: this one is it.
    ADD COLUMN first_opened_at timestamptz,
    -- Of the address on file that the code went to which raised it, as suppressions know it.
    ADD COLUMN proven_digests bytea[] NOT NULL DEFAULT '{}';
