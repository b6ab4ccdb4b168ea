-- All that the pages of one session show, by the hash of its cookie ($1). Hot: one per page. Rides
-- on debtor_sessions_session_hash_key, on primary keys, on payments' unique key and on
-- payment_requests_claim. The merchant's configuration is kept by the process and stays behind.
SELECT s.merchant_id, s.session_id, s.claim_id, s.communication_id, s.channel, s.level,
       s.expires_at, s.ended_at,
       m.key, m.name, m.switched_to_workflows, m.revision, m.sandbox_now, NULL AS configuration,
       c.reference_number, c.currency, c.status, d.first_name, d.last_name, d.company_name,
       d.language, i.items, p.payments, h.holds, r.request
FROM debtor_sessions s
JOIN merchants m ON m.merchant_id = s.merchant_id
JOIN claims c ON c.merchant_id = s.merchant_id AND c.claim_id = s.claim_id
JOIN debtors d ON d.merchant_id = s.merchant_id AND d.claim_id = s.claim_id
CROSS JOIN LATERAL (
    SELECT json_agg(json_build_array(i.type, i.value_cents, i.reference, i.item_date, i.due_date,
                                     (SELECT coalesce(sum(a.amount_cents), 0)
                                      FROM allocations a
                                      WHERE a.merchant_id = s.merchant_id
                                        AND a.claim_id = s.claim_id
                                        AND a.item_id = i.item_id))
                    ORDER BY i.position, i.item_id) AS items
    FROM items i
    WHERE i.merchant_id = s.merchant_id AND i.claim_id = s.claim_id) i
CROSS JOIN LATERAL (
    SELECT json_agg(json_build_array(p.amount_cents, p.paid_at, p.request_id)
                    ORDER BY p.paid_at, p.payment_id) AS payments
    FROM payments p
    WHERE p.merchant_id = s.merchant_id AND p.claim_id = s.claim_id AND p.reversed_at IS NULL) p
CROSS JOIN LATERAL (
    SELECT json_agg(json_build_array(h.kind, h.until) ORDER BY h.since, h.hold_id) AS holds
    FROM holds h
    WHERE h.merchant_id = s.merchant_id AND h.claim_id = s.claim_id AND h.lifted_at IS NULL) h
LEFT JOIN LATERAL (
    SELECT json_build_array(r.request_id, r.provider, r.amount_cents, r.state) AS request
    FROM payment_requests r
    WHERE r.merchant_id = s.merchant_id AND r.claim_id = s.claim_id
    ORDER BY r.created_at DESC, r.request_id DESC
    LIMIT 1) r ON true
WHERE s.session_hash = $1
