-- What was changed in drafts of workflows, by whom; a person's changes of one part in a row are one.
CREATE TABLE workflow_draft_changes (
    merchant_id integer NOT NULL,
    change_id uuid NOT NULL,
    workflow_id uuid NOT NULL,
    -- The version it was published with; NULL: it is in the draft.
    version_id uuid,
    -- As the audit log names who acts.
    actor_kind text NOT NULL,
    actor_id text,
    changed_at timestamptz NOT NULL,
    -- 'settings', 'step 3', 'stepOrder', 'templates/<name>', 'snippets/<name>'; 'draft': all that was
    -- changed before authors were kept.
    part text NOT NULL,
    -- As JSON; NULL: the part was not there.
    before jsonb,
    after jsonb,
    PRIMARY KEY (merchant_id, change_id),
    FOREIGN KEY (merchant_id, workflow_id) REFERENCES workflows ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, version_id) REFERENCES workflow_versions
);
CREATE INDEX workflow_draft_changes_open
    ON workflow_draft_changes (merchant_id, workflow_id, change_id) WHERE version_id IS NULL;
CREATE INDEX workflow_draft_changes_published
    ON workflow_draft_changes (merchant_id, version_id, change_id) WHERE version_id IS NOT NULL;

INSERT INTO workflow_draft_changes
    (merchant_id, change_id, workflow_id, actor_kind, changed_at, part)
SELECT merchant_id, version_id, workflow_id, 'SYSTEM', created_at, 'draft'
FROM workflow_versions
WHERE state = 'DRAFT';

-- What a preview of a draft has found; its progress stands in the job.
CREATE TABLE workflow_previews (
    merchant_id integer NOT NULL,
    job_id uuid NOT NULL,
    draft_id uuid NOT NULL,
    -- How many claims move and how, and the first of them; NULL: it has not ended.
    result jsonb,
    PRIMARY KEY (merchant_id, job_id),
    FOREIGN KEY (merchant_id, job_id) REFERENCES jobs ON DELETE CASCADE
);
CREATE INDEX workflow_previews_of_draft ON workflow_previews (merchant_id, draft_id, job_id);
ALTER TABLE jobs DROP CONSTRAINT jobs_kind_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_kind_check
    CHECK (kind IN ('PAUSE', 'RESUME', 'ASSIGN', 'ARCHIVE', 'EXPORT', 'PREVIEW')) NOT VALID;
ALTER TABLE jobs VALIDATE CONSTRAINT jobs_kind_check;
