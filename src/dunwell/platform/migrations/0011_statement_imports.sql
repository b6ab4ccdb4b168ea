-- The file that brought an entry. Null: the entry was imported before this column existed, and the
-- counters of its file are complete.
ALTER TABLE bank_entries ADD COLUMN file_id uuid;
-- Entries that were read so far and that the bank has not booked yet.
ALTER TABLE bank_files ADD COLUMN pending_count integer NOT NULL DEFAULT 0;
-- Why a match was made: a code with facts, or what a person wrote. Earlier matches have a sentence
-- in `explanation` instead.
ALTER TABLE bank_matches ADD COLUMN reason jsonb;
ALTER TABLE bank_matches ALTER COLUMN explanation DROP NOT NULL;
