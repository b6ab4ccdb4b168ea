-- What was done to drafts of assignment rules: a row each time one is saved. Revisions go on counting
-- behind a draft that was published or discarded, so that no two drafts are taken for one another.
CREATE TABLE assignment_rule_changes (
    merchant_id integer NOT NULL REFERENCES merchants,
    revision integer NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    made_at timestamptz NOT NULL,
    -- [{"kind", "name"}], against the draft before, else against the published rules.
    changes jsonb NOT NULL,
    PRIMARY KEY (merchant_id, revision)
);

-- The changes of the draft that stands: from the first of them to the last.
ALTER TABLE assignment_rule_drafts
    ADD COLUMN first_revision integer NOT NULL DEFAULT 1,
    ADD COLUMN revision integer NOT NULL DEFAULT 1;
-- Drafts from before came from the command line.
INSERT INTO assignment_rule_changes
    (merchant_id, revision, actor_kind, actor_id, made_at, changes)
SELECT merchant_id, 1, 'OPERATOR', NULL, saved_at, '[{"kind": "SAVED", "name": null}]'
FROM assignment_rule_drafts;

-- Who has published a version, and what it is for; not known of versions from before.
ALTER TABLE assignment_rules
    ADD COLUMN actor_kind text,
    ADD COLUMN actor_id text,
    ADD COLUMN comment text;
