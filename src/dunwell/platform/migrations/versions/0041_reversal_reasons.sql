-- In the words of whoever took it back; none where nobody said.
ALTER TABLE payments ADD COLUMN reversal_reason text;
