-- The other open claims of a merchant ($1) at an address on file of this claim ($2, $4), the newest
-- first. Empty unless the session's level ($3) is CODE. Nested in the statement of the page.
-- `other_claims` fills in the address's column and the condition that uses its index.
SELECT other.claim_id, claim.reference_number, claim.currency, other.{column} AS address,
       (SELECT coalesce(sum(item.value_cents), 0)::bigint
        FROM items item
        WHERE item.merchant_id = other.merchant_id AND item.claim_id = other.claim_id)
       - (SELECT coalesce(sum(part.amount_cents), 0)::bigint
          FROM allocations part
          WHERE part.merchant_id = other.merchant_id AND part.claim_id = other.claim_id)
           AS outstanding_cents
FROM debtors other
JOIN claims claim ON claim.merchant_id = other.merchant_id AND claim.claim_id = other.claim_id
WHERE $3 = 'CODE' AND other.merchant_id = $1 AND {indexed} AND other.claim_id <> $2
    AND claim.status IN ('CREATED', 'IN_PROCESS')
ORDER BY other.claim_id DESC
LIMIT {most}
