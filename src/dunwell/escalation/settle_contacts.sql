-- What the channels answered changes, in one statement.
-- $1 merchant, $2 its time; $3-$8 contacts; $9-$12 claims; $13-$18 history; $19-$24 the contacts
-- that follow. Events are stored after it.
WITH answered AS (
    UPDATE communications m
    SET state = n.state, failure = n.failure, not_before = coalesce(n.not_before, m.not_before),
        lease_until = n.lease_until,
        lease_id = CASE WHEN n.lease_until IS NULL THEN NULL ELSE m.lease_id END,
        handed_over_at = CASE WHEN n.state = 'PLANNED' THEN NULL ELSE m.handed_over_at END,
        settled_at = CASE WHEN n.is_settled THEN $2::timestamptz END
    FROM unnest($3::uuid[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[],
                $8::boolean[])
        AS n (communication_id, state, failure, not_before, lease_until, is_settled)
    WHERE m.merchant_id = $1 AND m.communication_id = n.communication_id
), moved AS (
    UPDATE claims c
    SET next_step_id = n.next_step_id, due_at = n.due_at, event_sequence = n.event_sequence,
        updated_at = $2
    FROM unnest($9::bigint[], $10::integer[], $11::timestamptz[], $12::integer[])
        AS n (claim_id, next_step_id, due_at, event_sequence)
    WHERE c.merchant_id = $1 AND c.claim_id = n.claim_id
), noted AS (
    INSERT INTO step_history (merchant_id, claim_id, run, step_id, version_id, outcome, reason, at)
    SELECT $1, claim_id, run, step_id, version_id, outcome, reason, $2
    FROM unnest($13::bigint[], $14::integer[], $15::integer[], $16::uuid[], $17::text[], $18::text[])
        AS h (claim_id, run, step_id, version_id, outcome, reason)
    ON CONFLICT (merchant_id, claim_id, run, step_id) DO UPDATE
    SET version_id = excluded.version_id, outcome = excluded.outcome, reason = excluded.reason,
        at = excluded.at
)
INSERT INTO communications
    (merchant_id, communication_id, claim_id, run, step_id, place, channel, not_before, planned_at)
SELECT $1, communication_id, claim_id, run, step_id, place, channel, $2, $2
FROM unnest($19::uuid[], $20::bigint[], $21::integer[], $22::integer[], $23::smallint[],
            $24::text[])
    AS m (communication_id, claim_id, run, step_id, place, channel)
-- As in engine_outcomes: a step that runs again after a reversal.
ON CONFLICT (merchant_id, claim_id, run, step_id, place) DO UPDATE
SET state = 'PLANNED', channel = excluded.channel, not_before = excluded.not_before,
    planned_at = excluded.planned_at, handed_over_at = NULL, settled_at = NULL, failure = NULL,
    tries = 0
WHERE communications.state = 'CANCELLED'
