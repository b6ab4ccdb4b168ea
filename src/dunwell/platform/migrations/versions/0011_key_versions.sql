-- Versions of the installation's secret key. All defaults are constants: no table is rewritten.

-- Every version that was ever in use here, by what it can be known by: a digest that tells nothing
-- about it. The keys themselves are never in the database. A number is not given a second time.
CREATE TABLE key_versions (
    version smallint PRIMARY KEY CHECK (version > 0),
    fingerprint bytea NOT NULL UNIQUE,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    -- Nothing names it any more: it may be taken out of the settings.
    retired_at timestamptz
);

-- Which version a keyed digest was made with, and what is derived from the row's id: a message's
-- token and code. What was there before was made with the first.
ALTER TABLE communication_contents
    ADD COLUMN key_version smallint NOT NULL DEFAULT 1,
    -- The one its letter is sealed with, in the file storage; the worker brings it up to date.
    ADD COLUMN document_key_version smallint NOT NULL DEFAULT 1;
ALTER TABLE debtor_notices ADD COLUMN key_version smallint NOT NULL DEFAULT 1;
ALTER TABLE debtor_codes ADD COLUMN key_version smallint NOT NULL DEFAULT 1;
ALTER TABLE suppressions ADD COLUMN key_version smallint NOT NULL DEFAULT 1;
ALTER TABLE ledger_seals ADD COLUMN key_version smallint NOT NULL DEFAULT 1;
