-- Why a transaction is left to a person, as a code with facts. Null: the reason is not known, or it
-- follows from the transaction.
ALTER TABLE bank_transactions
    ADD COLUMN problem jsonb;
