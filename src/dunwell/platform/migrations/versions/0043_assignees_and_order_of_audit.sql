-- The person who has taken it on, or was given it; none: nobody.
ALTER TABLE disputes ADD COLUMN assignee_id uuid;
ALTER TABLE disputes ADD CONSTRAINT disputes_assignee FOREIGN KEY (assignee_id) REFERENCES users
    NOT VALID;
ALTER TABLE payment_modalities ADD COLUMN assignee_id uuid;
ALTER TABLE payment_modalities ADD CONSTRAINT payment_modalities_assignee
    FOREIGN KEY (assignee_id) REFERENCES users NOT VALID;

-- The log follows the transactions that wrote its rows (decision 0016); those of before come last,
-- by their ids.
ALTER TABLE audit_log ADD COLUMN written_by xid8 NOT NULL DEFAULT '0';
ALTER TABLE audit_log ALTER written_by SET DEFAULT current_written_by();
