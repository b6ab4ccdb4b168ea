-- All that deciding the next steps of claims needs. $1 merchant, $2 claim ids. The claims were locked
-- by a statement before this one: what was committed until then (a payment, an item) is seen here.
-- Rides on primary keys that begin with merchant and claim.
SELECT c.claim_id, c.reference_number, c.currency, c.status, c.workflow_id, c.workflow_major, c.run,
       c.next_step_id, c.due_at, c.event_sequence,
       d.email, d.mobile_number, d.language, d.date_of_birth, d.address, d.customer_number,
       d.custom_fields, i.total_cents, i.item_types, i.first_primary_on, i.next_position,
       i.total_cents - coalesce(a.allocated_cents, 0) AS outstanding_cents,
       EXISTS (SELECT FROM communications m
               WHERE m.merchant_id = $1 AND m.claim_id = c.claim_id AND m.run = c.run
                 AND m.state = 'ACCEPTED') AS has_reached,
       t.tried_channels, coalesce(t.next_place, 0) AS next_place
FROM claims c
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = c.claim_id
CROSS JOIN LATERAL (
    SELECT sum(value_cents)::bigint AS total_cents, max(position) + 1 AS next_position,
           array_agg(DISTINCT type) AS item_types,
           (array_agg(coalesce(due_date, item_date) ORDER BY position)
               FILTER (WHERE type = 'PRIMARY'))[1] AS first_primary_on
    FROM items
    WHERE merchant_id = $1 AND claim_id = c.claim_id) i
CROSS JOIN LATERAL (
    SELECT sum(amount_cents)::bigint AS allocated_cents
    FROM allocations
    WHERE merchant_id = $1 AND claim_id = c.claim_id) a
CROSS JOIN LATERAL (
    SELECT array_agg(channel) AS tried_channels, max(place) + 1 AS next_place
    FROM communications
    WHERE merchant_id = $1 AND claim_id = c.claim_id AND run = c.run AND step_id = c.next_step_id
      AND state <> 'CANCELLED') t
WHERE c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
ORDER BY c.claim_id
