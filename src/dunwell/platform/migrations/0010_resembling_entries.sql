-- The day of another entry with the same reference and amount, which may be the same payment. A
-- person decides whether it is. Null: there is none.
ALTER TABLE bank_transactions
    ADD COLUMN resembles_on date;
