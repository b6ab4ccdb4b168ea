-- Write the outcomes of contacts in one statement. $1 merchant, $2 its time; $3-$10 contacts;
-- $11-$14 claims; $15-$20 history; $21-$26 fallback contacts; $27-$29 providers, answers and
-- destinations of the contacts; $30 whether their channels were called. Events are stored
-- afterwards.
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest($3::uuid[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[],
                $8::boolean[], $9::uuid[], $10::text[], $27::text[], $28::text[],
                $29::text[], $30::boolean[])
        AS n (communication_id, state, failure, not_before, lease_until, is_settled, entry_id,
              outcome, provider, response, destination, was_called)
), answered AS (
    UPDATE communications m
    SET -- A contact whose hand-over was undone before it was marked may still wait for its
        -- attachment.
        state = CASE WHEN n.state = 'PLANNED' AND NOT n.was_called AND m.handed_over_at IS NULL
                     THEN m.state ELSE n.state END,
        failure = n.failure, not_before = coalesce(n.not_before, m.not_before),
        lease_until = n.lease_until,
        -- End the lease. A contact whose call is repeated is leased again after its delay.
        lease_id = NULL,
        -- Without a call, restore the state before the hand-over.
        handed_over_at = CASE WHEN n.state = 'PLANNED' THEN NULL ELSE m.handed_over_at END,
        recipient_digest = CASE WHEN n.state = 'PLANNED' THEN NULL ELSE m.recipient_digest END,
        content_digest = CASE WHEN n.state = 'PLANNED' THEN NULL ELSE m.content_digest END,
        attempts = CASE WHEN n.outcome = 'SETTLED_NOT_SENT' THEN 0
                     WHEN NOT n.was_called AND m.handed_over_at IS NOT NULL THEN m.attempts - 1
                     ELSE m.attempts END,
        settled_at = CASE WHEN n.is_settled THEN $2::timestamptz END,
        provider = n.provider, destination = n.destination,
        provider_response = coalesce(n.response, m.provider_response)
    FROM given n
    WHERE m.merchant_id = $1 AND m.communication_id = n.communication_id
), recorded AS (
    -- Only outcomes of a hand-over. m has the values from before this statement.
    INSERT INTO contact_ledger
        (merchant_id, entry_id, communication_id, claim_id, run, step_id, place, channel, outcome,
         attempts, at, recipient_digest, content_digest)
    SELECT $1, n.entry_id, m.communication_id, m.claim_id, m.run, m.step_id, m.place, m.channel,
           n.outcome, m.attempts, $2, m.recipient_digest, m.content_digest
    FROM given n
    JOIN communications m ON m.merchant_id = $1 AND m.communication_id = n.communication_id
    WHERE n.outcome IS NOT NULL AND m.handed_over_at IS NOT NULL
), moved AS (
    UPDATE claims c
    SET next_step_id = n.next_step_id, due_at = n.due_at, event_sequence = n.event_sequence,
        updated_at = $2
    FROM unnest($11::bigint[], $12::integer[], $13::timestamptz[], $14::integer[])
        AS n (claim_id, next_step_id, due_at, event_sequence)
    WHERE c.merchant_id = $1 AND c.claim_id = n.claim_id
), noted AS (
    INSERT INTO step_history (merchant_id, claim_id, run, step_id, version_id, outcome, reason, at)
    SELECT $1, claim_id, run, step_id, version_id, outcome, reason, $2
    FROM unnest($15::bigint[], $16::integer[], $17::integer[], $18::uuid[], $19::text[], $20::text[])
        AS h (claim_id, run, step_id, version_id, outcome, reason)
    ON CONFLICT (merchant_id, claim_id, run, step_id) DO UPDATE
    SET version_id = excluded.version_id, outcome = excluded.outcome, reason = excluded.reason,
        at = excluded.at
)
INSERT INTO communications
    (merchant_id, communication_id, claim_id, run, step_id, place, channel, not_before, planned_at,
     written_by)
SELECT $1, communication_id, claim_id, run, step_id, place, channel, $2, $2, {written_by}
FROM unnest($21::uuid[], $22::bigint[], $23::integer[], $24::integer[], $25::smallint[],
            $26::text[])
    AS m (communication_id, claim_id, run, step_id, place, channel)
-- A step that runs again after a reversal, as in engine_outcomes.sql.
ON CONFLICT (merchant_id, claim_id, run, step_id, place) DO UPDATE
SET state = 'PLANNED', channel = excluded.channel, not_before = excluded.not_before,
    planned_at = excluded.planned_at, handed_over_at = NULL, settled_at = NULL, failure = NULL,
    attempts = 0, written_by = excluded.written_by
WHERE communications.state = 'CANCELLED'
