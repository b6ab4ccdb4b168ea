-- A set of one merchant's due claims with all that deciding their next steps needs, locked until
-- commit; claims another engine holds are left to it. $1 merchant, $2 its time, $3 size of the set.
-- Rides on claims_due, then on primary keys that begin with merchant and claim.
WITH due AS MATERIALIZED (
    SELECT claim_id, reference_number, currency, status, workflow_id, workflow_major, run,
           next_step_id, due_at, event_sequence
    FROM claims
    WHERE merchant_id = $1 AND due_at <= $2 AND NOT held
    ORDER BY due_at
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT due.*, d.email, d.mobile_number, d.language, d.date_of_birth, d.address, d.customer_number,
       d.custom_fields, i.total_cents, i.item_types, i.first_primary_on,
       i.next_position,
       i.total_cents - coalesce(a.allocated_cents, 0) AS outstanding_cents,
       EXISTS (SELECT FROM communications m
               WHERE m.merchant_id = $1 AND m.claim_id = due.claim_id AND m.run = due.run
                 AND m.state = 'ACCEPTED') AS has_reached
FROM due
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = due.claim_id
CROSS JOIN LATERAL (
    SELECT sum(value_cents)::bigint AS total_cents, max(position) + 1 AS next_position,
           array_agg(DISTINCT type) AS item_types,
           (array_agg(coalesce(due_date, item_date) ORDER BY position)
               FILTER (WHERE type = 'PRIMARY'))[1] AS first_primary_on
    FROM items
    WHERE merchant_id = $1 AND claim_id = due.claim_id) i
CROSS JOIN LATERAL (
    SELECT sum(amount_cents)::bigint AS allocated_cents
    FROM allocations
    WHERE merchant_id = $1 AND claim_id = due.claim_id) a
ORDER BY due.claim_id
