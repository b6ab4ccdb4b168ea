-- Events of additional types, which the contract does not have, take no number among the events of
-- their claim.
ALTER TABLE events ALTER COLUMN sequence DROP NOT NULL;
