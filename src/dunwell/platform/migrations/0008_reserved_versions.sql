-- The version id that the switch to workflows gives the row: nothing is copied.
ALTER TABLE scenarios RENAME COLUMN copy_version_id TO reserved_version_id;
