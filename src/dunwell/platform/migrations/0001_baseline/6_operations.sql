-- Tables of operations: background jobs and restores. Real time.

-- What a worker does to many claims, or exports from a list.
CREATE TABLE jobs (
    merchant_id integer NOT NULL REFERENCES merchants,
    job_id uuid NOT NULL,
    kind text NOT NULL
        CHECK (kind IN ('PAUSE', 'RESUME', 'ASSIGN', 'ARCHIVE', 'EXPORT', 'PREVIEW')),
    -- What exactly is done: until when and why, which workflow, which list with which filters.
    parameters jsonb NOT NULL,
    state text NOT NULL DEFAULT 'WAITING'
        CHECK (state IN ('WAITING', 'RUNNING', 'DONE', 'CANCELLED', 'FAILED')),
    -- Who started the job; everything it does is recorded in this name.
    actor_kind text NOT NULL,
    actor_id text,
    -- What the starter was allowed to do at the start. The job may only do what is still allowed.
    actor_rights text[] NOT NULL,
    actor_origin jsonb,
    -- The job whose failed rows are retried.
    retry_of uuid,
    -- The number of selected rows, and how many had which outcome. An export has no selection:
    -- "done" counts the rows that it has written.
    total integer NOT NULL CHECK (total >= 0),
    done integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    -- Why the job failed as a whole.
    failure text,
    -- When a worker may take the job, or, while it runs, when its lease ends. Null after the end.
    due_at timestamptz,
    lease_id uuid,
    -- How often it was taken since it last made progress.
    attempts smallint NOT NULL DEFAULT 0,
    -- When it is deleted. Null until it has ended.
    kept_until timestamptz,
    -- A merchant has ten places for jobs that wait or run, and one for a preview: of two jobs that
    -- start at once, only one gets the last place (jobs_live, jobs_one_preview).
    live_slot smallint NOT NULL CONSTRAINT jobs_live_slot CHECK (live_slot BETWEEN 1 AND 10),
    preview_slot smallint CONSTRAINT jobs_preview_slot CHECK (preview_slot = 1),
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, job_id),
    CHECK ((ended_at IS NULL) = (state IN ('WAITING', 'RUNNING'))),
    CHECK ((due_at IS NULL) = (ended_at IS NOT NULL)),
    CHECK ((kept_until IS NULL) = (ended_at IS NULL))
);
CREATE UNIQUE INDEX jobs_live ON jobs (merchant_id, live_slot) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX jobs_one_preview ON jobs (merchant_id, preview_slot) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
-- For deleting old jobs.
CREATE INDEX jobs_kept ON jobs (kept_until) WHERE kept_until IS NOT NULL;
CREATE INDEX jobs_list ON jobs (merchant_id, written_by, job_id);

-- The selected claims of a job, fixed at its start, and the outcome of each. An outcome is written
-- in the transaction that changes the claim, so that nothing is done twice.
CREATE TABLE job_rows (
    merchant_id integer NOT NULL,
    job_id uuid NOT NULL,
    position integer NOT NULL,
    claim_id bigint NOT NULL,
    outcome text NOT NULL DEFAULT 'WAITING'
        CHECK (outcome IN ('WAITING', 'DONE', 'SKIPPED', 'FAILED')),
    -- Why nothing was done: a key for which the portal has a sentence, and the error's own message.
    reason text,
    message text,
    PRIMARY KEY (merchant_id, job_id, position),
    UNIQUE (merchant_id, job_id, claim_id),
    FOREIGN KEY (merchant_id, job_id) REFERENCES jobs ON DELETE CASCADE,
    CHECK ((reason IS NULL) = (outcome IN ('WAITING', 'DONE')))
    -- Room in each page for updated rows.
) WITH (fillfactor = 80);
CREATE INDEX job_rows_waiting
    ON job_rows (merchant_id, job_id, position) WHERE outcome = 'WAITING';
CREATE INDEX job_rows_by_outcome
    ON job_rows (merchant_id, job_id, outcome, position) WHERE outcome IN ('SKIPPED', 'FAILED');

-- The parts of an export. A part is recorded before its file is written, so that no file is
-- forgotten.
CREATE TABLE job_files (
    merchant_id integer NOT NULL,
    job_id uuid NOT NULL,
    part integer NOT NULL,
    file_key text NOT NULL,
    -- Null while the part is being written.
    size_bytes integer,
    -- Where the next part begins. Null: this is the last part.
    next_cursor text,
    PRIMARY KEY (merchant_id, job_id, part),
    FOREIGN KEY (merchant_id, job_id) REFERENCES jobs ON DELETE CASCADE
);

-- What the preview of a workflow draft has found; its progress is in the job.
CREATE TABLE workflow_previews (
    merchant_id integer NOT NULL,
    job_id uuid NOT NULL,
    draft_id uuid NOT NULL,
    -- How many claims move and how, and the first of them. Null until the job has ended.
    result jsonb,
    PRIMARY KEY (merchant_id, job_id),
    FOREIGN KEY (merchant_id, job_id) REFERENCES jobs ON DELETE CASCADE
);
CREATE INDEX workflow_previews_of_draft ON workflow_previews (merchant_id, draft_id, job_id);

-- Backups that were restored into this database. The worker does nothing until an operator resumes
-- it: what was sent after the backup was taken is not known here and would be sent again.
CREATE TABLE restores (
    restored_at timestamptz PRIMARY KEY DEFAULT clock_timestamp(),
    taken_at timestamptz NOT NULL,
    resumed_at timestamptz,
    lost_until timestamptz
);
