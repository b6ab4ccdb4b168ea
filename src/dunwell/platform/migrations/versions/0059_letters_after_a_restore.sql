-- After a restore a letter that waits may stand in a manifest that this database does not know.
ALTER TABLE letter_batch_items
    -- Since when it is known, or a person has said, that no manifest before names it.
    ADD cleared_at timestamptz,
    -- A person decides. UNTOLD: nothing that is left tells whether a manifest named it. GONE: its
    -- files are no longer there.
    ADD doubt text;
ALTER TABLE letter_batch_items
    ADD CONSTRAINT letter_batch_items_doubt
    CHECK (doubt IS NULL OR (doubt IN ('UNTOLD', 'GONE') AND state = 'WAITING')) NOT VALID;
-- RELEASED: a manifest named it that is not known any more; a person or the print service says so.
ALTER TABLE letter_batch_items DROP CONSTRAINT letter_batch_items_state_check;
ALTER TABLE letter_batch_items
    ADD CONSTRAINT letter_batch_items_state_check
    CHECK (state IN ('UPLOADING', 'WAITING', 'BATCHED', 'RELEASED', 'TAKING_BACK', 'TAKEN_BACK'))
    NOT VALID;

-- When this database learned of it by its copy beside the letters.
ALTER TABLE letter_batches ADD found_at timestamptz;

-- The letters of such a batch, also those that this database never had.
CREATE TABLE letters_found (
    merchant_id integer NOT NULL REFERENCES merchants,
    communication_id uuid NOT NULL,
    batch_id uuid NOT NULL REFERENCES letter_batches,
    PRIMARY KEY (merchant_id, communication_id)
);

-- Who reads the status files of a line; the others leave them.
CREATE TABLE letter_status_readers (
    line text PRIMARY KEY,
    lease_id uuid NOT NULL,
    lease_until timestamptz NOT NULL
);
