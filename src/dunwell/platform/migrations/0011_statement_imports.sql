-- The file that brought an entry. Null: the entry was imported before this column existed, and the
-- counters of its file are complete.
ALTER TABLE bank_entries ADD COLUMN file_id uuid;
-- Entries that were read so far and that the bank has not booked yet.
ALTER TABLE bank_files ADD COLUMN pending_count integer NOT NULL DEFAULT 0;
