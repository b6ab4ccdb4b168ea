-- Secrets of the installation file, sealed with the secret key; the file names where they came from.
CREATE TABLE installation_secrets (
    -- "lines/post/credentials/passwordFile".
    name text PRIMARY KEY,
    sealed bytea NOT NULL,
    set_at timestamptz NOT NULL
);

-- When a line has room again, over all workers. Real time.
CREATE TABLE line_paces (
    line text PRIMARY KEY,
    free_at timestamptz NOT NULL
);

-- What channels report of messages they took, each report once. Real time throughout.
CREATE TABLE channel_reports (
    report_id uuid PRIMARY KEY,
    line text NOT NULL,
    provider_id text NOT NULL,
    state text NOT NULL CHECK (state IN ('DELIVERED', 'FAILED', 'RETURNED', 'DELAYED')),
    happened_at timestamptz,
    -- Of the message, contact or notice; none: it names none of ours.
    merchant_id integer,
    communication_id uuid,
    reason text NOT NULL,
    cause text NOT NULL CHECK (cause IN ('ADDRESS', 'ABOUT_US', 'OTHER')),
    destination text,
    -- As it came.
    raw bytea NOT NULL,
    received_at timestamptz NOT NULL,
    -- When it is looked at (again); none: it was joined, or names nothing of ours.
    due_at timestamptz,
    outcome text CHECK (outcome IN
        ('DELIVERED', 'FAILED', 'SETTLED', 'WAITING', 'IGNORED', 'UNMATCHED')),
    handled_at timestamptz,
    CHECK ((merchant_id IS NULL) = (communication_id IS NULL)),
    CONSTRAINT channel_reports_once
        UNIQUE NULLS NOT DISTINCT (line, provider_id, state, happened_at)
);
CREATE INDEX channel_reports_due ON channel_reports (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX channel_reports_received ON channel_reports (received_at);
-- What failed by a line, and what names nothing of ours: the portal shows it.
CREATE INDEX channel_reports_of_line ON channel_reports (line, received_at);
CREATE INDEX channel_reports_unmatched
    ON channel_reports (received_at) WHERE outcome = 'UNMATCHED';
CREATE INDEX channel_reports_of_message
    ON channel_reports (merchant_id, communication_id) WHERE communication_id IS NOT NULL;

-- The line a contact left by, what it answered, and when it was reported to have arrived.
ALTER TABLE communications ADD COLUMN line text;
ALTER TABLE communications ADD COLUMN answer text;
ALTER TABLE communications ADD COLUMN delivered_at timestamptz;
