-- Whether the debtor is still to be told of the answer, by which notice, and since when it is told:
-- a channel has accepted it. Of an older answer nothing is told any more.
ALTER TABLE disputes
    ADD COLUMN is_untold boolean NOT NULL DEFAULT false,
    ADD COLUMN answer_notice_id uuid,
    ADD COLUMN told_at timestamptz;

-- Kinds and channels of notices are one more; the new rules hold for new rows from here on.
ALTER TABLE debtor_notices DROP CONSTRAINT debtor_notices_kind_check;
ALTER TABLE debtor_notices ADD CONSTRAINT debtor_notices_kind_check CHECK (kind IN
    ('CODE', 'LINK', 'RECEIPT', 'CONFIRMATION', 'CHANGE_CODE', 'CHANGE_NOTICE', 'ANSWER')) NOT VALID;
