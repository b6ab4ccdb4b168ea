-- Tables of the interfaces: debtor pages and portal. Real time.

-- Sessions of debtor pages ------------------------------------------------------------------------

-- A debtor's session on the page of one claim. The cookie's token is stored as a hash.
CREATE TABLE debtor_sessions (
    merchant_id integer NOT NULL,
    session_hash bytea NOT NULL UNIQUE,
    -- The sessionId in events.
    session_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    communication_id uuid,
    -- The channel of the message with the link. Null for a code, or if the page was opened
    -- directly.
    channel text CHECK (channel IN ('EMAIL', 'SMS', 'LETTER')),
    -- LINK shows amount, reference and initials. FACT, after a known fact or a letter's code, shows
    -- everything. CODE, after a code sent to the address on file, also allows changing contact
    -- data.
    level text NOT NULL CHECK (level IN ('LINK', 'FACT', 'CODE')),
    opened_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- The addresses on file when the session was opened, as digests of the suppression list, so
    -- that one statement finds what the page shows about them. If an address has changed since,
    -- they are looked up again.
    address_digests bytea[] NOT NULL DEFAULT '{}',
    -- When the first of the sessions that this one continues was opened. Null: this is the first.
    first_opened_at timestamptz,
    -- The address to which the code was sent that raised the level to CODE.
    proven_digests bytea[] NOT NULL DEFAULT '{}',
    -- The hash of the token that the session's token replaced, or, for a session that was opened
    -- without one, a keyed digest of the visitor and of the link or code. Until previous_until the
    -- same request, sent again, gets another token of the session.
    previous_hash bytea,
    previous_until timestamptz,
    PRIMARY KEY (merchant_id, session_hash),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
CREATE INDEX debtor_sessions_expiry ON debtor_sessions (expires_at);
CREATE INDEX debtor_sessions_previous ON debtor_sessions (previous_hash);
CREATE INDEX debtor_sessions_session ON debtor_sessions (merchant_id, session_id);

-- What was typed into a form and not sent: one draft for each subject.
CREATE TABLE debtor_drafts (
    merchant_id integer NOT NULL,
    -- Whom the draft belongs to: the claim (its number as an id), or the session in which it was
    -- typed, for what only that person may see again.
    session_id uuid NOT NULL,
    -- What the form is about, such as dispute:AMOUNT_WRONG.
    subject text NOT NULL,
    claim_id bigint NOT NULL,
    fields jsonb NOT NULL DEFAULT '{}',
    -- The form that was sent last, and the id of what it created: sent again it creates nothing.
    sent_form uuid,
    created_id uuid,
    kept_until timestamptz NOT NULL,
    -- Raised by every change; detects conflicting edits.
    revision integer NOT NULL DEFAULT 0,
    -- Conflicting versions among which nobody has chosen yet: objects like "fields".
    conflicts jsonb NOT NULL DEFAULT '[]',
    PRIMARY KEY (merchant_id, session_id, subject),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((sent_form IS NULL) = (created_id IS NULL))
);
CREATE INDEX debtor_drafts_claim ON debtor_drafts (merchant_id, claim_id);
CREATE INDEX debtor_drafts_expiry ON debtor_drafts (kept_until);

-- Files that were uploaded for a draft.
CREATE TABLE debtor_draft_files (
    merchant_id integer NOT NULL,
    session_id uuid NOT NULL,
    subject text NOT NULL,
    ticket_id uuid NOT NULL,
    PRIMARY KEY (merchant_id, session_id, subject, ticket_id),
    FOREIGN KEY (merchant_id, session_id, subject) REFERENCES debtor_drafts
        ON UPDATE CASCADE ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, ticket_id) REFERENCES uploads ON DELETE CASCADE
);
CREATE INDEX debtor_draft_files_ticket ON debtor_draft_files (merchant_id, ticket_id);

-- Codes and links that debtors ask for ------------------------------------------------------------

-- A claim's single valid code of six digits, which is derived from the notice that contained it.
CREATE TABLE verification_codes (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    notice_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    -- When it opened a session or raised its level. The same code sent again right after that, by a
    -- double click, is not a wrong code.
    used_at timestamptz,
    PRIMARY KEY (merchant_id, claim_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);

-- A new e-mail address or mobile number of a claim that waits for the code that was sent there.
CREATE TABLE pending_contact_changes (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    channel text NOT NULL CHECK (channel IN ('EMAIL', 'SMS')),
    address text NOT NULL,
    -- The notice that contained the code, which is derived from it.
    notice_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    PRIMARY KEY (merchant_id, claim_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
CREATE INDEX pending_contact_changes_expiry ON pending_contact_changes (expires_at);

-- Requests for a new link. Everybody gets the same answer at once, before the worker looks whether
-- the request matches a claim, so that neither the answer nor its time reveals it. The worker
-- deletes the row when it has looked. A request names no merchant, because the claim has to be
-- found first.
CREATE TABLE link_requests (
    link_request_id uuid PRIMARY KEY,
    -- As they were typed.
    reference text NOT NULL,
    contact text NOT NULL,
    requested_at timestamptz NOT NULL
);
CREATE INDEX link_requests_requested ON link_requests (requested_at);

-- Limits on guessing ------------------------------------------------------------------------------

-- Wrong facts (postal code, date of birth, numbers) and wrong sent codes of a claim, counted under
-- the row's lock: for a short lock, and in a day, which locks the claim until a new link is asked
-- for.
CREATE TABLE verification_failures (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    failures integer NOT NULL,
    first_at timestamptz NOT NULL,
    locked_until timestamptz,
    day_failures integer NOT NULL DEFAULT 0,
    day_first_at timestamptz,
    PRIMARY KEY (merchant_id, claim_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);

-- How many links a visitor asked for in a quarter of an hour. The visitor is the digest of an
-- address.
CREATE TABLE link_request_counts (
    visitor_digest bytea NOT NULL,
    window_start timestamptz NOT NULL,
    requests integer NOT NULL DEFAULT 0,
    PRIMARY KEY (visitor_digest, window_start)
);

-- Wrong letter codes of all visitors together, by the minute. They belong to no merchant, because a
-- wrong code names none. Concurrent writers wait for each other.
CREATE TABLE letter_code_failures (
    minute timestamptz PRIMARY KEY,
    count integer NOT NULL
);

-- Portal ------------------------------------------------------------------------------------------

-- Saved views: the filters of a list under a name, for their creator or for everybody at the
-- merchant.
CREATE TABLE saved_views (
    merchant_id integer NOT NULL REFERENCES merchants,
    view_id uuid NOT NULL,
    -- The creator, who alone may delete the view, also a shared one.
    user_id uuid NOT NULL REFERENCES users,
    is_shared boolean NOT NULL,
    list text NOT NULL CHECK (list = 'CLAIMS'),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    -- The query of the list's address.
    query text NOT NULL CHECK (length(query) <= 2000),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, view_id),
    UNIQUE (merchant_id, user_id, list, name)
);
CREATE INDEX saved_views_shared ON saved_views (merchant_id, list) WHERE is_shared;
