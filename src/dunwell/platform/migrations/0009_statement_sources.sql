-- Where the statements of an account are fetched: a bank connection of the installation file, and a
-- folder below the connection's folder. Null: statements are only uploaded or imported by command.
ALTER TABLE bank_accounts
    ADD COLUMN connection text,
    ADD COLUMN folder text NOT NULL DEFAULT '';
