-- Nobody reads or writes it any more: `requests` counts. A process of the version before may still
-- write it while hosts are brought up one by one, so it goes in a later release.
ALTER TABLE code_attempts ALTER COLUMN failures SET DEFAULT 0;
