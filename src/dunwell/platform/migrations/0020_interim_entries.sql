-- Without a transaction.
-- Entries of reports during the day that no statement has confirmed yet. Earlier entries count as
-- confirmed.
SET lock_timeout = '4s';

ALTER TABLE bank_entries ADD COLUMN IF NOT EXISTS is_interim boolean NOT NULL DEFAULT false;

RESET lock_timeout;

DROP INDEX CONCURRENTLY IF EXISTS bank_entries_interim;
CREATE INDEX CONCURRENTLY bank_entries_interim ON bank_entries (merchant_id, account, booked_on)
    WHERE is_interim;
