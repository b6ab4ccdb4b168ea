-- A closed bank account keeps its statements, but nothing is imported or collected through it. Real
-- time; null: the account is open.
ALTER TABLE bank_accounts
    ADD COLUMN closed_at timestamptz;
