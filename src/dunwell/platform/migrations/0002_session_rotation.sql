-- The hash of the token that the session's token replaced, or, for a session that was opened
-- without one, a keyed digest of the visitor and of the link or code. Until the given time the
-- same request, sent again, gets another token of the session.
ALTER TABLE debtor_sessions
    ADD COLUMN previous_hash bytea,
    ADD COLUMN previous_until timestamptz;
