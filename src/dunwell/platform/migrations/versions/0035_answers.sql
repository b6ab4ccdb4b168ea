-- What somebody has written of an answer and not sent: one for a dispute, whoever writes it, so that
-- two people find each other's words.
CREATE TABLE answer_drafts (
    merchant_id integer NOT NULL,
    dispute_id uuid NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('', 'ACCEPTED', 'REJECTED')),
    ends_claim boolean NOT NULL,
    message text NOT NULL CHECK (length(message) <= 4000),
    -- Counts up with every change, which is compared with it.
    revision integer NOT NULL,
    -- Real time.
    saved_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    PRIMARY KEY (merchant_id, dispute_id),
    FOREIGN KEY (merchant_id, dispute_id) REFERENCES disputes ON DELETE CASCADE
);

-- A merchant's texts for answers, which everybody who answers chooses from.
CREATE TABLE answer_templates (
    merchant_id integer NOT NULL REFERENCES merchants,
    template_id uuid NOT NULL,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    text text NOT NULL CHECK (length(text) BETWEEN 1 AND 4000),
    created_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    PRIMARY KEY (merchant_id, template_id),
    UNIQUE (merchant_id, name)
);
