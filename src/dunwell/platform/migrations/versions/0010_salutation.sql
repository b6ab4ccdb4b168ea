-- How a debtor is greeted. What is there says nothing of it, so that no row has to be looked at.
ALTER TABLE debtors
    ADD COLUMN salutation text,
    ADD CONSTRAINT debtors_salutation_check CHECK (salutation IN ('MR', 'MS', 'NEUTRAL')) NOT VALID;
