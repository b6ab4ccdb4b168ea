-- What needs a person: of the installation, over all merchants. Real time throughout.
CREATE TABLE alarms (
    alarm_id uuid PRIMARY KEY,
    kind text NOT NULL,
    -- What it is about: a line, a line and a domain, a merchant's number; empty: the installation.
    subject text NOT NULL,
    -- How much of it, and since when; nothing of a person's.
    figures jsonb NOT NULL,
    began_at timestamptz NOT NULL,
    -- When it was found last.
    seen_at timestamptz NOT NULL,
    over_at timestamptz,
    -- It has happened, and does not last.
    is_event boolean NOT NULL DEFAULT false,
    CHECK (over_at >= began_at),
    CHECK (NOT is_event OR over_at IS NOT NULL)
);
-- One at a time of a kind and a subject.
CREATE UNIQUE INDEX alarms_standing ON alarms (kind, subject) WHERE over_at IS NULL;
CREATE UNIQUE INDEX alarms_once ON alarms (kind, subject) WHERE is_event;
CREATE INDEX alarms_over ON alarms (over_at) WHERE over_at IS NOT NULL;

-- That an alarm was told: its beginning and its end once, that it lasts once for each number.
CREATE TABLE alarm_tellings (
    alarm_id uuid NOT NULL REFERENCES alarms ON DELETE CASCADE,
    number integer NOT NULL CHECK (number > 0),
    phase text NOT NULL CHECK (phase IN ('BEGAN', 'LASTS', 'OVER')),
    told_at timestamptz NOT NULL,
    PRIMARY KEY (alarm_id, number),
    CHECK ((phase = 'BEGAN') = (number = 1))
);
CREATE UNIQUE INDEX alarm_tellings_over ON alarm_tellings (alarm_id) WHERE phase = 'OVER';

-- The e-mails that tell, each to one address.
CREATE TABLE alarm_mails (
    mail_id uuid PRIMARY KEY,
    recipient text NOT NULL,
    subject text NOT NULL,
    body text NOT NULL,
    made_at timestamptz NOT NULL,
    -- HANDED_OVER: it may have left. UNKNOWN: nobody knows; it is not sent again.
    state text NOT NULL DEFAULT 'PLANNED'
        CHECK (state IN ('PLANNED', 'HANDED_OVER', 'ACCEPTED', 'FAILED', 'UNKNOWN')),
    tries integer NOT NULL DEFAULT 0,
    -- When it is tried, or given up as unanswered; none: that is over.
    due_at timestamptz,
    CHECK ((due_at IS NOT NULL) = (state IN ('PLANNED', 'HANDED_OVER')))
);
CREATE INDEX alarm_mails_due ON alarm_mails (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX alarm_mails_made ON alarm_mails (made_at);

-- When somebody looked last; one row.
CREATE TABLE alarm_watch (
    watch smallint PRIMARY KEY CHECK (watch = 1),
    looked_at timestamptz NOT NULL
);
