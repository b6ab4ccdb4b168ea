-- Lock the leased contacts whose claims are unchanged since rendering, active and not on hold.
-- Claims are locked first, in the order of their ids, then the contacts. $1 merchant, $2 lease;
-- $3-$6 contacts. Uses primary keys and disputes_stopped.
SELECT m.communication_id, m.planned_at,
       EXISTS (SELECT FROM suppressions s
               WHERE s.merchant_id = $1 AND s.channel = m.channel
                 AND s.address_digest = ANY(r.address_digests::bytea[])) AS is_suppressed,
       EXISTS (SELECT FROM disputes d
               WHERE d.merchant_id = $1 AND d.released_at IS NULL
                 AND d.stopped_identities IS NOT NULL
                 AND d.stopped_identities && r.identities::bytea[]) AS is_stopped
FROM unnest($3::uuid[], $4::bigint[], $5::text[], $6::text[])
    AS r (communication_id, claim_version, address_digests, identities)
JOIN communications m ON m.merchant_id = $1 AND m.communication_id = r.communication_id
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE m.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND {is_held} AND NOT c.held
  AND c.xmin::text::bigint = r.claim_version AND c.status IN ('CREATED', 'IN_PROCESS')
  AND c.run = m.run
ORDER BY c.claim_id
FOR NO KEY UPDATE OF c, m
