-- What a debtor is told by a message of its own, once: an objection that was received or answered, a
-- payment, a plan. Written with what it is about; the key keeps it from being told again.
CREATE TABLE debtor_occasions (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    -- The name of its templates.
    occasion text NOT NULL,
    -- Which one of them: the id of what it is about.
    subject text NOT NULL,
    -- What the message says. Taken out some days after it is over.
    facts jsonb,
    -- All of the following in real time. When to look at it next; none: it is over.
    due_at timestamptz,
    -- What was sent of it last.
    notice_id uuid,
    over_at timestamptz,
    PRIMARY KEY (merchant_id, claim_id, occasion, subject),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((due_at IS NULL) = (over_at IS NOT NULL)),
    CHECK (facts IS NOT NULL OR over_at IS NOT NULL)
);
CREATE INDEX debtor_occasions_due ON debtor_occasions (due_at) WHERE due_at IS NOT NULL;
-- Whose message did not arrive, as was reported.
CREATE INDEX debtor_occasions_notice ON debtor_occasions (merchant_id, notice_id)
    WHERE notice_id IS NOT NULL;
-- Those still to be emptied.
CREATE INDEX debtor_occasions_over ON debtor_occasions (over_at)
    WHERE over_at IS NOT NULL AND facts IS NOT NULL;

-- Notices are letters too, and reminders; the new rules hold for new rows from here on.
ALTER TABLE debtor_notices DROP CONSTRAINT debtor_notices_kind_check;
ALTER TABLE debtor_notices ADD CONSTRAINT debtor_notices_kind_check CHECK (kind IN
    ('CODE', 'LINK', 'RECEIPT', 'CONFIRMATION', 'CHANGE_CODE', 'CHANGE_NOTICE', 'ANSWER',
     'REMINDER', 'OVERDUE')) NOT VALID;
ALTER TABLE debtor_notices DROP CONSTRAINT debtor_notices_channel_check;
ALTER TABLE debtor_notices ADD CONSTRAINT debtor_notices_channel_check
    CHECK (channel IN ('EMAIL', 'SMS', 'LETTER')) NOT VALID;

-- Of a letter, what is printed: texts for the one layout, with masks. Emptied with the rest.
ALTER TABLE debtor_notices ADD COLUMN sheet jsonb;
-- A notice's letter bears a code as a communication's does; it belongs to none.
ALTER TABLE debtor_codes ALTER COLUMN communication_id DROP NOT NULL;

-- Lists over all claims follow the transactions that wrote the rows; those of before come last, by
-- their ids. overdue_told_at: since when the merchant knows that its answer is overdue. Real time.
ALTER TABLE disputes
    ADD COLUMN written_by xid8 NOT NULL DEFAULT '0',
    ADD COLUMN overdue_told_at timestamptz;
ALTER TABLE disputes ALTER written_by SET DEFAULT current_written_by();

-- Answers that were given and not told yet. From here on nothing reads is_untold and
-- answer_notice_id: they stay for processes of the release before, until a later migration.
INSERT INTO debtor_occasions (merchant_id, claim_id, occasion, subject, facts, due_at, notice_id)
SELECT d.merchant_id, d.claim_id, 'dispute_answer', d.dispute_id::text, jsonb_build_object(
        'reference_number', c.reference_number,
        'case_number', (
            SELECT string_agg(
                substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((n >> (35 - 5 * i)) & 31)::int + 1, 1)
                    || CASE WHEN i = 3 THEN '-' ELSE '' END, '' ORDER BY i)
            FROM generate_series(0, 7) i,
                 CAST(('x' || substr(encode(sha256(uuid_send(d.dispute_id)), 'hex'), 1, 10))::bit(40)
                      AS bigint) n),
        'is_accepted', d.state = 'ACCEPTED',
        'is_closed', c.status NOT IN ('CREATED', 'IN_PROCESS'),
        'reason', d.resolution,
        'quiet_days', coalesce((m.configuration::jsonb #>> '{disputes,quiet_days_after_answer}')::int, 7)),
    now(), d.answer_notice_id
FROM disputes d
JOIN claims c ON c.merchant_id = d.merchant_id AND c.claim_id = d.claim_id
JOIN merchants m ON m.merchant_id = d.merchant_id
WHERE d.is_untold;

INSERT INTO debtor_occasions (merchant_id, claim_id, occasion, subject, facts, due_at)
SELECT p.merchant_id, p.claim_id,
    CASE WHEN p.state = 'REJECTED' THEN 'rejection'
         WHEN p.type = 'PAYMENT_PLAN' THEN 'plan' ELSE 'deferment' END,
    p.modality_id || ' ' || p.state,
    jsonb_build_object('reference_number', c.reference_number) || CASE
        WHEN p.state = 'REJECTED' THEN
            jsonb_build_object('is_plan', p.type = 'PAYMENT_PLAN', 'reason', p.reason)
        WHEN p.type = 'PAYMENT_PLAN' THEN jsonb_build_object(
            'currency', c.currency, 'costs_cents', 0, 'is_approved', true,
            'rows', (SELECT jsonb_agg(jsonb_build_array(due_on, amount_cents) ORDER BY number)
                     FROM instalments i
                     WHERE i.merchant_id = p.merchant_id AND i.modality_id = p.modality_id))
        ELSE jsonb_build_object(
            'currency', c.currency, 'amount_cents', p.amount_cents, 'until', p.deferred_until,
            'is_approved', true)
    END,
    now()
FROM payment_modalities p
JOIN claims c ON c.merchant_id = p.merchant_id AND c.claim_id = p.claim_id
WHERE p.is_untold;
