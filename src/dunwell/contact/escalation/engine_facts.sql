-- Load the facts that decide the next steps of claims. $1 merchant, $2 claim ids. An earlier
-- statement has locked the claims, so everything that was committed before (a payment, an item) is
-- visible here. Each table is read once for the whole set, by (merchant, claim) of its primary or
-- unique key, so that a plan made for small tables stays efficient.
WITH items_of AS MATERIALIZED (
    SELECT claim_id, sum(value_cents)::bigint AS total_cents, max(position) + 1 AS next_position,
           array_agg(DISTINCT type) AS item_types,
           (array_agg(coalesce(due_date, item_date) ORDER BY position)
               FILTER (WHERE type = 'PRIMARY'))[1] AS first_primary_on
    FROM items
    WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
    GROUP BY claim_id
), paid_of AS MATERIALIZED (
    SELECT claim_id, sum(amount_cents)::bigint AS allocated_cents
    FROM allocations
    WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
    GROUP BY claim_id
), contacts_of AS MATERIALIZED (
    SELECT m.claim_id,
           bool_or(m.state = 'ACCEPTED') AS has_reached,
           -- A returned or refused letter has not arrived; the fallback of its step follows.
           max(m.handed_over_at) FILTER (
               WHERE m.channel = 'LETTER' AND m.state IN ('HANDED_OVER', 'ACCEPTED')
           ) AS letter_sent_at,
           array_agg(m.channel) FILTER (WHERE m.step_id = c.next_step_id AND m.state <> 'CANCELLED')
               AS tried_channels,
           max(m.place) FILTER (WHERE m.step_id = c.next_step_id AND m.state <> 'CANCELLED') + 1
               AS next_place
    FROM communications m
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id AND c.run = m.run
    WHERE m.merchant_id = $1 AND m.claim_id = ANY($2::bigint[])
      AND c.claim_id = ANY($2::bigint[])
    GROUP BY m.claim_id
)
SELECT c.claim_id, c.reference_number, c.currency, c.status, c.workflow_id, c.workflow_major, c.run,
       c.next_step_id, c.due_at, c.event_sequence,
       d.email, d.mobile_number, d.language, d.date_of_birth, d.address, d.customer_number,
       d.custom_fields, i.total_cents, i.item_types, i.first_primary_on, i.next_position,
       i.total_cents - coalesce(p.allocated_cents, 0) AS outstanding_cents,
       coalesce(t.has_reached, false) AS has_reached, t.tried_channels,
       coalesce(t.next_place, 0) AS next_place, t.letter_sent_at,
       -- Ordered by the key, so that no plan scans the rows of other claims.
       (SELECT true FROM suppressions WHERE merchant_id = $1 ORDER BY channel, address_digest
        LIMIT 1) IS NOT NULL AS has_suppressions
FROM claims c
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = c.claim_id
JOIN items_of i ON i.claim_id = c.claim_id
LEFT JOIN paid_of p ON p.claim_id = c.claim_id
LEFT JOIN contacts_of t ON t.claim_id = c.claim_id
WHERE c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
ORDER BY c.claim_id
