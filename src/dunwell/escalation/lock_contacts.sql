-- The gate at the moment of sending: those leased contacts whose claims are still as they were
-- rendered, in process and not held. Locks claims before anything else, in the order of their ids,
-- then the contacts. $1 merchant, $2 lease; $3-$5 contacts. By primary keys.
SELECT m.communication_id, m.planned_at,
       EXISTS (SELECT FROM suppressions s
               WHERE s.merchant_id = $1 AND s.channel = m.channel
                 AND s.address_digest = ANY(r.address_digests::bytea[])) AS is_suppressed
FROM unnest($3::uuid[], $4::bigint[], $5::text[])
    AS r (communication_id, claim_version, address_digests)
JOIN communications m ON m.merchant_id = $1 AND m.communication_id = r.communication_id
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE m.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND m.lease_id = $2 AND NOT c.held
  AND c.xmin::text::bigint = r.claim_version AND c.status IN ('CREATED', 'IN_PROCESS')
  AND c.run = m.run
ORDER BY c.claim_id
FOR NO KEY UPDATE OF c, m
