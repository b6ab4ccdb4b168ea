-- Where the statements of an account are fetched: a bank connection of the installation file, and a
-- folder below the connection's folder. Null: statements are only uploaded or imported by command.
ALTER TABLE bank_accounts
    ADD COLUMN connection text,
    ADD COLUMN folder text NOT NULL DEFAULT '';
CREATE INDEX bank_accounts_connection ON bank_accounts (connection) WHERE connection IS NOT NULL;
-- A file that is still on the server is not fetched again.
CREATE INDEX bank_files_name ON bank_files (merchant_id, account, name);
