-- Write a set of decisions in one statement: the positions and event sequences of claims, the
-- history of steps (a WAIT that is restarted after a late failure already has its row), and the
-- planned contacts. Fees are stored before it, because events name them; events are stored after
-- it. $1 merchant, $2 its time; $3-$7 claims; $8-$13 history; $14-$19 contacts.
WITH moved AS (
    UPDATE claims c
    SET status = n.status, next_step_id = n.next_step_id, due_at = n.due_at,
        event_sequence = n.event_sequence, updated_at = $2
    FROM unnest($3::bigint[], $4::text[], $5::integer[], $6::timestamptz[], $7::integer[])
        AS n (claim_id, status, next_step_id, due_at, event_sequence)
    WHERE c.merchant_id = $1 AND c.claim_id = n.claim_id
), noted AS (
    INSERT INTO step_history (merchant_id, claim_id, run, step_id, version_id, outcome, reason, at)
    SELECT $1, claim_id, run, step_id, version_id, outcome, reason, $2
    FROM unnest($8::bigint[], $9::integer[], $10::integer[], $11::uuid[], $12::text[], $13::text[])
        AS h (claim_id, run, step_id, version_id, outcome, reason)
    ON CONFLICT (merchant_id, claim_id, run, step_id) DO UPDATE
    SET version_id = excluded.version_id, outcome = excluded.outcome, reason = excluded.reason,
        at = excluded.at
)
INSERT INTO communications
    (merchant_id, communication_id, claim_id, run, step_id, place, channel, not_before, planned_at,
     written_by)
SELECT $1, communication_id, claim_id, run, step_id, place, channel, $2, $2, {written_by}
FROM unnest($14::uuid[], $15::bigint[], $16::integer[], $17::integer[], $18::smallint[],
            $19::text[])
    AS m (communication_id, claim_id, run, step_id, place, channel)
-- A claim that continues after a reversal plans its step again. It reuses the row of the
-- cancelled contact, which was never sent.
ON CONFLICT (merchant_id, claim_id, run, step_id, place) DO UPDATE
SET state = 'PLANNED', channel = excluded.channel, not_before = excluded.not_before,
    planned_at = excluded.planned_at, handed_over_at = NULL, settled_at = NULL, failure = NULL,
    attempts = 0, written_by = excluded.written_by
WHERE communications.state = 'CANCELLED'
