-- Everything that the pages of one session show, by the hash of its cookie ($1), as one JSON text,
-- which is parsed faster than as many columns. Hot path: executed once per page. Uses
-- debtor_sessions_session_hash_key, primary keys, the unique key of payments, payment_requests_claim,
-- disputes_claim, payment_modalities_one and payment_modalities_claim. The merchant's configuration
-- is cached by the process and not loaded here. `details` fills in the columns of a payment modality
-- and what else the page shows (its detail).
SELECT json_build_object(
    'merchant', json_build_array(m.merchant_id, m.key, m.name, m.switched_to_workflows,
                                 m.revision, m.sandbox_now),
    'session', json_build_array(s.merchant_id, encode(s.session_hash, 'base64'), s.session_id,
                                s.claim_id, s.communication_id, s.channel, s.level, s.expires_at,
                                s.ended_at, s.opened_at,
                                coalesce(s.first_opened_at, s.opened_at),
                                ARRAY(SELECT encode(p, 'base64') FROM unnest(s.proven_digests) p),
                                encode(s.previous_hash, 'base64')),
    'drafts', ARRAY(
        SELECT t.subject
        FROM debtor_drafts t
        WHERE t.merchant_id = s.merchant_id
          AND t.session_id = lpad(to_hex(s.claim_id), 32, '0')::uuid
          AND (t.fields <> '{}' OR t.conflicts <> '[]' OR EXISTS (
              SELECT FROM debtor_draft_files e
              WHERE e.merchant_id = t.merchant_id AND e.session_id = t.session_id
                AND e.subject = t.subject))
        ORDER BY t.subject),
    'facts', json_build_object(
        'claim_id', s.claim_id,
        'reference_number', c.reference_number,
        'currency', c.currency,
        'status', c.status,
        'first_name', d.first_name,
        'last_name', d.last_name,
        'company_name', d.company_name,
        'language', d.language,
        'max_deferral_on', d.max_deferral_on,
        'workflow_key', CASE WHEN c.workflow_id IS NOT NULL
                             THEN json_build_array(c.workflow_id, c.workflow_major) END,
        'on_file', json_build_array(
            d.email, d.mobile_number,
            json_build_object('street', d.address ->> 'street',
                              'address_line2', d.address ->> 'address_line2',
                              'postal_code', d.address ->> 'postal_code',
                              'city', d.address ->> 'city'),
            d.date_of_birth, d.contract_number, d.customer_number),
        'items', ARRAY(
            -- The reference of a step's fee is the step's name, which debtors do not see.
            SELECT json_build_array(i.type, i.value_cents,
                                    CASE WHEN i.step_id IS NULL THEN i.reference END,
                                    i.item_date, i.due_date,
                                    (SELECT coalesce(sum(a.amount_cents), 0)::bigint
                                     FROM allocations a
                                     WHERE a.merchant_id = s.merchant_id
                                       AND a.claim_id = s.claim_id
                                       AND a.item_id = i.item_id),
                                    i.item_id, i.fee_of)
            FROM items i
            WHERE i.merchant_id = s.merchant_id AND i.claim_id = s.claim_id
            ORDER BY i.position, i.item_id),
        'payments', ARRAY(
            SELECT json_build_array(p.amount_cents - p.returned_cents, p.paid_at, p.request_id)
            FROM payments p
            WHERE p.merchant_id = s.merchant_id AND p.claim_id = s.claim_id
              AND p.reversed_at IS NULL
            ORDER BY p.paid_at, p.payment_id),
        'holds', ARRAY(
            SELECT json_build_array(h.kind, h.until, h.since, h.hold_id)
            FROM holds h
            WHERE h.merchant_id = s.merchant_id AND h.claim_id = s.claim_id
              AND h.lifted_at IS NULL
            ORDER BY h.since, h.hold_id),
        'request', (
            SELECT json_build_array(r.request_id, r.provider, r.amount_cents, r.state,
                                    r.sent_on)
            FROM payment_requests r
            WHERE r.merchant_id = s.merchant_id AND r.claim_id = s.claim_id
            ORDER BY r.created_at DESC, r.request_id DESC
            LIMIT 1),
        'disputes', ARRAY(
            SELECT json_build_array(o.dispute_id, o.type, o.opened_at, o.answers)
            FROM disputes o
            WHERE o.merchant_id = s.merchant_id AND o.claim_id = s.claim_id AND o.state = 'OPEN'
            ORDER BY o.opened_at, o.dispute_id),
        'answer', (
            SELECT json_build_array(o.dispute_id, o.state = 'ACCEPTED', o.resolved_at,
                                    o.resolution)
            FROM disputes o
            WHERE o.merchant_id = s.merchant_id AND o.claim_id = s.claim_id
              AND o.state IN ('ACCEPTED', 'REJECTED')
            ORDER BY o.resolved_at DESC, o.dispute_id DESC
            LIMIT 1),
        -- Nothing is withheld from a session of a message sent after the dispute: that message went
        -- to another address or person.
        'withheld', (
            SELECT json_build_array(o.dispute_id, o.reason, o.opened_at, o.state, o.actor_kind,
                                    o.actor_id, o.suppressed_channel IS NOT NULL)
            FROM disputes o
            WHERE o.merchant_id = s.merchant_id AND o.claim_id = s.claim_id
              AND o.reason IN ('WRONG_PERSON', 'PERSON_DIED') AND o.released_at IS NULL
              AND NOT EXISTS (
                  SELECT FROM communications later
                  WHERE later.merchant_id = s.merchant_id
                    AND later.communication_id = s.communication_id
                    AND later.handed_over_at > o.opened_at)
            ORDER BY o.reason, o.opened_at, o.dispute_id
            LIMIT 1),
        'document_count', (
            SELECT count(*)
            FROM attachments f
            WHERE f.merchant_id = s.merchant_id AND f.claim_id = s.claim_id),
        'has_modalities', EXISTS (
            SELECT FROM payment_modalities y
            WHERE y.merchant_id = s.merchant_id AND y.claim_id = s.claim_id),
        'has_disputes', EXISTS (
            SELECT FROM disputes o
            WHERE o.merchant_id = s.merchant_id AND o.claim_id = s.claim_id)),
    'modality', CASE
        WHEN EXISTS (
            SELECT FROM payment_modalities y
            WHERE y.merchant_id = s.merchant_id AND y.claim_id = s.claim_id
              AND y.ended_at IS NULL)
        THEN {live_modality}
    END,
    'unsuccessful_modality', CASE
        WHEN EXISTS (
            SELECT FROM payment_modalities y
            WHERE y.merchant_id = s.merchant_id AND y.claim_id = s.claim_id
              AND y.ended_reason IN ('BROKEN', 'REJECTED'))
        THEN {unsuccessful_modality}
    END,
    'detail', {detail})::text
FROM {session} s
JOIN merchants m ON m.merchant_id = s.merchant_id
JOIN claims c ON c.merchant_id = s.merchant_id AND c.claim_id = s.claim_id
JOIN debtors d ON d.merchant_id = s.merchant_id AND d.claim_id = s.claim_id
WHERE {found}
