-- Lists over all claims follow the transactions that wrote the rows (decision 0016); those of before
-- come last, by their ids.
ALTER TABLE payments ADD COLUMN written_by xid8 NOT NULL DEFAULT '0';
ALTER TABLE payments ALTER written_by SET DEFAULT current_written_by();
ALTER TABLE payment_modalities ADD COLUMN written_by xid8 NOT NULL DEFAULT '0';
ALTER TABLE payment_modalities ALTER written_by SET DEFAULT current_written_by();
ALTER TABLE payment_requests ADD COLUMN written_by xid8 NOT NULL DEFAULT '0';
ALTER TABLE payment_requests ALTER written_by SET DEFAULT current_written_by();
ALTER TABLE communications ADD COLUMN written_by xid8 NOT NULL DEFAULT '0';
ALTER TABLE communications ALTER written_by SET DEFAULT current_written_by();
ALTER TABLE suppressions ADD COLUMN written_by xid8 NOT NULL DEFAULT '0';
ALTER TABLE suppressions ALTER written_by SET DEFAULT current_written_by();
ALTER TABLE webhook_endpoints ADD COLUMN written_by xid8 NOT NULL DEFAULT '0';
ALTER TABLE webhook_endpoints ALTER written_by SET DEFAULT current_written_by();
CREATE INDEX webhook_endpoints_list ON webhook_endpoints (merchant_id, written_by, endpoint_id);

-- What is done to many claims, or written out of a list, by the worker. All instants are real time.
CREATE TABLE jobs (
    merchant_id integer NOT NULL REFERENCES merchants,
    job_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('PAUSE', 'RESUME', 'ASSIGN', 'ARCHIVE', 'EXPORT')),
    -- What is done: until when and why, which workflow, which list by which filters.
    parameters jsonb NOT NULL,
    state text NOT NULL DEFAULT 'WAITING'
        CHECK (state IN ('WAITING', 'RUNNING', 'DONE', 'CANCELLED', 'FAILED')),
    -- Who started it; whatever is done is done in this name.
    actor_kind text NOT NULL,
    actor_id text,
    -- What the starter could do then; it is asked again what is left of it.
    actor_rights text[] NOT NULL,
    actor_origin jsonb,
    -- The job whose failed rows are tried again.
    retry_of uuid,
    -- Rows of the selection, and how many of them had which outcome. An export has none: what it has
    -- written is done.
    total integer NOT NULL CHECK (total >= 0),
    done integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    begun_at timestamptz,
    ended_at timestamptz,
    -- Why it failed as a whole, in words.
    failure text,
    -- When a worker may take it; of one that is run, when its lease ends. None once it has ended.
    due_at timestamptz,
    lease_id uuid,
    -- How often it was taken since it last got on.
    tries smallint NOT NULL DEFAULT 0,
    -- When it is swept; none as long as it has not ended.
    kept_until timestamptz,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, job_id),
    CHECK ((ended_at IS NULL) = (state IN ('WAITING', 'RUNNING'))),
    CHECK ((due_at IS NULL) = (ended_at IS NOT NULL)),
    CHECK ((kept_until IS NULL) = (ended_at IS NULL))
);
CREATE INDEX jobs_list ON jobs (merchant_id, written_by, job_id);
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_kept ON jobs (kept_until) WHERE kept_until IS NOT NULL;

-- A job's selection, frozen: a claim each, and what became of it. An outcome is written with what it
-- tells of, so that nothing is done twice.
CREATE TABLE job_rows (
    merchant_id integer NOT NULL,
    job_id uuid NOT NULL,
    position integer NOT NULL,
    claim_id bigint NOT NULL,
    outcome text NOT NULL DEFAULT 'WAITING'
        CHECK (outcome IN ('WAITING', 'DONE', 'SKIPPED', 'FAILED')),
    -- Why not: a word that the portal has a sentence for, and the refusal's own message.
    reason text,
    message text,
    PRIMARY KEY (merchant_id, job_id, position),
    UNIQUE (merchant_id, job_id, claim_id),
    FOREIGN KEY (merchant_id, job_id) REFERENCES jobs ON DELETE CASCADE,
    CHECK ((reason IS NULL) = (outcome IN ('WAITING', 'DONE')))
) WITH (fillfactor = 80);
CREATE INDEX job_rows_waiting ON job_rows (merchant_id, job_id, position)
    WHERE outcome = 'WAITING';
CREATE INDEX job_rows_by_outcome ON job_rows (merchant_id, job_id, outcome, position)
    WHERE outcome IN ('SKIPPED', 'FAILED');

-- What an export has written, part by part; each is recorded before its file is kept, so that no
-- file is forgotten.
CREATE TABLE job_files (
    merchant_id integer NOT NULL,
    job_id uuid NOT NULL,
    part integer NOT NULL,
    file_key text NOT NULL,
    -- None as long as it is being written.
    size_bytes integer,
    -- Where the next part begins; none: this is the last.
    next_cursor text,
    PRIMARY KEY (merchant_id, job_id, part),
    FOREIGN KEY (merchant_id, job_id) REFERENCES jobs ON DELETE CASCADE
);

-- What claims are searched by: words, folded, of which any beginning finds them. Written by the worker
-- behind those who create claims, so that these pay nothing for it.
CREATE TABLE claim_search (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    term text COLLATE "C" NOT NULL,
    PRIMARY KEY (merchant_id, claim_id, term),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
-- Of one word the newest claim first, and so that a place in it is one value behind the other.
CREATE INDEX claim_search_terms ON claim_search (merchant_id, term, (-claim_id));
-- Up to where a merchant's claims, in the order of their list, have their words.
CREATE TABLE claim_search_progress (
    merchant_id integer PRIMARY KEY REFERENCES merchants,
    upto_written_by xid8 NOT NULL DEFAULT '0',
    upto_claim_id bigint NOT NULL DEFAULT 0
);
