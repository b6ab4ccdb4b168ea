-- Letters of one line that one manifest releases. Real time throughout.
CREATE TABLE letter_batches (
    batch_id uuid PRIMARY KEY,
    line text NOT NULL,
    -- DECIDED: its letters are chosen; nothing is outside under a final name, it may be dissolved.
    -- WRITTEN: the manifest is outside but for its final name; it can only be finished.
    -- RELEASED: it has its final name.
    state text NOT NULL DEFAULT 'DECIDED' CHECK (state IN ('DECIDED', 'WRITTEN', 'RELEASED')),
    letters integer NOT NULL CHECK (letters > 0),
    pages integer NOT NULL,
    manifest bytea NOT NULL,
    made_at timestamptz NOT NULL,
    released_at timestamptz,
    -- Of the worker that writes the manifest.
    lease_id uuid,
    lease_until timestamptz,
    CHECK ((state = 'RELEASED') = (released_at IS NOT NULL))
);
CREATE INDEX letter_batches_open ON letter_batches (lease_until) WHERE state <> 'RELEASED';
CREATE INDEX letter_batches_of_line ON letter_batches (line, batch_id);

-- Each letter once, whatever line it goes by: it stands in one manifest at most.
CREATE TABLE letter_batch_items (
    merchant_id integer NOT NULL REFERENCES merchants,
    -- Of a contact or a notice.
    communication_id uuid NOT NULL,
    line text NOT NULL,
    reference text NOT NULL,
    -- UPLOADING: its files may be outside. WAITING: they are, for the next batch. BATCHED: a manifest
    -- names it. TAKING_BACK: nothing is owed any more; its files are to be removed. TAKEN_BACK: they
    -- are.
    state text NOT NULL DEFAULT 'UPLOADING'
        CHECK (state IN ('UPLOADING', 'WAITING', 'BATCHED', 'TAKING_BACK', 'TAKEN_BACK')),
    batch_id uuid REFERENCES letter_batches,
    -- The country it is posted to, ISO 3166-1 alpha-2, where it is known.
    country text,
    pages integer NOT NULL,
    -- [{"name", "sha256", "pages"}], the letter first.
    files jsonb NOT NULL,
    begun_at timestamptz NOT NULL,
    handed_at timestamptz,
    -- What the print service said last: ACCEPTED, PRINTED, POSTED, RETURNED, FAILED.
    status text,
    status_at timestamptz,
    PRIMARY KEY (merchant_id, communication_id),
    CHECK ((state = 'BATCHED') = (batch_id IS NOT NULL))
);
CREATE INDEX letter_batch_items_waiting
    ON letter_batch_items (line, handed_at) WHERE state = 'WAITING';
CREATE INDEX letter_batch_items_open
    ON letter_batch_items (line, begun_at) WHERE state IN ('UPLOADING', 'TAKING_BACK');
CREATE INDEX letter_batch_items_of_batch
    ON letter_batch_items (batch_id, communication_id) WHERE batch_id IS NOT NULL;

-- Status files of print services, read once each; the same name with other content is another.
CREATE TABLE letter_status_files (
    line text NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL,
    read_at timestamptz NOT NULL,
    -- READ: all its lines are in the inbox. REFUSED: none is.
    outcome text NOT NULL CHECK (outcome IN ('READ', 'REFUSED')),
    reports integer NOT NULL,
    -- Why it was refused, without what it holds.
    reason text,
    PRIMARY KEY (line, name, sha256)
);
CREATE INDEX letter_status_files_read ON letter_status_files (read_at);
