-- Lease a set of one merchant's planned contacts, with the facts for rendering. Contacts that
-- another worker has locked are skipped. Contacts that wait for an attachment are leased when their
-- waiting time ends. Contacts due at the same moment are taken in the order of planning. $1
-- merchant, $2 its time, $3 real time, $4 lease, $5 end of the lease, $6 size of the set, $7
-- channel. Uses communications_planned, then primary keys.
WITH chosen AS MATERIALIZED (
    SELECT m.communication_id
    FROM communications m
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
    WHERE m.merchant_id = $1 AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING')
      AND m.not_before <= $2
      AND {is_free}
      AND NOT c.held AND m.channel = $7
    ORDER BY m.not_before, m.planned_at
    LIMIT $6
    FOR NO KEY UPDATE OF m SKIP LOCKED
), leased AS (
    UPDATE communications m
    SET {hold}
    FROM chosen
    WHERE m.merchant_id = $1 AND m.communication_id = chosen.communication_id
    RETURNING m.communication_id, m.claim_id, m.run, m.step_id, m.place, m.channel, m.attempts,
              m.not_before, m.state = 'ATTACHMENT_MISSING' AS has_waited_for_attachment
)
SELECT leased.*, c.reference_number, c.currency, c.workflow_id, c.workflow_major,
       -- Differs after every change of the claim. A message is sent only if the version is the same.
       c.xmin::text::bigint AS claim_version,
       -- When the contact could first have been sent. Uses the primary key of holds.
       greatest(leased.not_before, (SELECT max(lifted_at) FROM holds h
                                    WHERE h.merchant_id = $1 AND h.claim_id = leased.claim_id))
           AS ready_at,
       {debtor}, d.email, d.mobile_number, d.language, d.address, d.customer_number,
       d.contract_number, i.items, coalesce(a.cents, 0) AS allocated_cents
FROM leased
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = leased.claim_id
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = leased.claim_id
CROSS JOIN LATERAL (
    -- Step names are internal to the merchant, so a step's fee is described by its type only.
    SELECT json_agg(json_build_array(type, value_cents,
                                     CASE WHEN step_id IS NULL THEN reference END,
                                     item_date, due_date)
                    ORDER BY position) AS items
    FROM items
    WHERE merchant_id = $1 AND claim_id = leased.claim_id) i
CROSS JOIN LATERAL (
    SELECT sum(amount_cents)::bigint AS cents
    FROM allocations
    WHERE merchant_id = $1 AND claim_id = leased.claim_id) a
