-- The timeline of one claim, newest entry first. Each part uses a key that begins with the merchant
-- and the claim; the part of the audit log uses audit_log_list_of_subject.
SELECT kind, at, subject_id, word, more, text, cents, until, actor_kind, actor_id
FROM (
    SELECT 'CREATED' AS kind, created_at AS at, NULL::uuid AS subject_id, NULL::text AS word,
           NULL::text AS more, NULL::text AS text, NULL::bigint AS cents,
           NULL::timestamptz AS until, NULL::text AS actor_kind, NULL::text AS actor_id,
           -- The order of steps and contacts with the same timestamp: the run, the place of the
           -- step, and the place of the channel in the step. The step itself counts as later than its
           -- contacts.
           NULL::integer[] AS turn
    FROM claims
    WHERE merchant_id = $1 AND claim_id = $2
    UNION ALL
    SELECT 'CONTACT', coalesce(m.handed_over_at, m.settled_at, m.planned_at), m.communication_id,
           m.channel, m.state,
           -- A planned contact has no subject yet, except that of an earlier attempt.
           CASE WHEN m.state = 'PLANNED' THEN m.failure ELSE coalesce(m.failure, t.subject) END,
           NULL, m.not_before, NULL, NULL,
           -- Before the hand-over, a contact has no version. It counts as later than all steps of its
           -- run except the archiving.
           ARRAY[m.run, coalesce(s.ordinality::integer, 2147483646), m.place]
    FROM communications m
    LEFT JOIN workflow_versions v ON v.merchant_id = m.merchant_id AND v.version_id = m.version_id
    LEFT JOIN LATERAL (
        SELECT ordinality
        FROM jsonb_array_elements(v.definition -> 'steps') WITH ORDINALITY AS each (step, ordinality)
        WHERE (step ->> 'id')::integer = m.step_id) s ON true
    LEFT JOIN communication_contents t
        ON t.merchant_id = m.merchant_id AND t.communication_id = m.communication_id
    WHERE m.merchant_id = $1 AND m.claim_id = $2
    UNION ALL
    SELECT 'NOTICE', dated_at, notice_id, channel, kind, coalesce(failure, subject), NULL, NULL,
           state, NULL, NULL
    FROM debtor_notices
    WHERE merchant_id = $1 AND claim_id = $2
    UNION ALL
    SELECT 'PAYMENT', paid_at, payment_id, provider_name, transaction_id, method, amount_cents,
           NULL, NULL, NULL, NULL
    FROM payments
    WHERE merchant_id = $1 AND claim_id = $2
    UNION ALL
    SELECT 'REVERSAL', m.recorded_at, m.payment_id, p.provider_name, p.transaction_id, NULL,
           m.booked_cents, NULL, NULL, NULL, NULL
    FROM payment_movements m
    JOIN payments p ON p.merchant_id = $1 AND p.payment_id = m.payment_id
    WHERE m.merchant_id = $1 AND m.claim_id = $2 AND m.kind <> 'PAID' AND m.booked_cents > 0
    UNION ALL
    -- The payment request of a debit has the id of the debit. It is left out, because the debit has
    -- its own entry.
    SELECT 'REQUEST', created_at, request_id, provider, state, NULL, amount_cents, NULL, 'DEBTOR',
           NULL, NULL
    FROM payment_requests r
    WHERE merchant_id = $1 AND claim_id = $2 AND NOT EXISTS (
        SELECT FROM debit_collections d WHERE d.merchant_id = $1 AND d.collection_id = r.request_id)
    UNION ALL
    SELECT 'MANDATE', signed_at, mandate_id, provider_name, reference, account_shown, NULL, NULL,
           actor_kind, actor_id, NULL
    FROM mandates
    WHERE merchant_id = $1 AND claim_id = $2
    UNION ALL
    SELECT 'MANDATE_END', ended_at, mandate_id, ended_reason, reference, provider_name, NULL, NULL,
           NULL, NULL, NULL
    FROM mandates
    WHERE merchant_id = $1 AND claim_id = $2 AND ended_at IS NOT NULL
    UNION ALL
    -- The time is when a user released the debit, or when the provider was asked to collect it.
    SELECT 'DEBIT', coalesce(f.released_at, r.created_at), d.collection_id, m.provider_name,
           d.instalment::text, NULL, d.amount_cents, NULL, NULL, NULL, NULL
    FROM mandates m
    JOIN debit_collections d ON d.merchant_id = $1 AND d.mandate_id = m.mandate_id
    LEFT JOIN debit_files f ON f.merchant_id = $1 AND f.file_id = d.file_id
    LEFT JOIN payment_requests r ON r.merchant_id = $1 AND r.request_id = d.collection_id
    WHERE m.merchant_id = $1 AND m.claim_id = $2
      AND coalesce(f.released_at, r.created_at) IS NOT NULL
    UNION ALL
    SELECT 'DEBIT_END', d.changed_at, d.collection_id, d.state, coalesce(d.return_reason,
           d.cancel_reason), m.provider_name, d.amount_cents, NULL, NULL, NULL, NULL
    FROM mandates m
    JOIN debit_collections d ON d.merchant_id = $1 AND d.mandate_id = m.mandate_id
    WHERE m.merchant_id = $1 AND m.claim_id = $2 AND d.state IN ('RETURNED', 'CANCELLED')
    UNION ALL
    SELECT 'DISPUTE', opened_at, dispute_id, type, label, message, NULL, NULL, actor_kind, actor_id,
           NULL
    FROM disputes
    WHERE merchant_id = $1 AND claim_id = $2
    UNION ALL
    SELECT 'DISPUTE_END', resolved_at, dispute_id, state, NULL, resolution, NULL, NULL, NULL, NULL,
           NULL
    FROM disputes
    WHERE merchant_id = $1 AND claim_id = $2 AND resolved_at IS NOT NULL
    UNION ALL
    SELECT 'PLAN', requested_at, modality_id, type, NULL, NULL, amount_cents, NULL, actor_kind,
           actor_id, NULL
    FROM payment_modalities
    WHERE merchant_id = $1 AND claim_id = $2
    UNION ALL
    SELECT 'PLAN_ANSWER', answered_at, modality_id, state, type, reason, NULL, NULL, NULL, NULL,
           NULL
    FROM payment_modalities
    WHERE merchant_id = $1 AND claim_id = $2 AND answered_at IS NOT NULL
    UNION ALL
    SELECT 'PLAN_END', ended_at, modality_id, ended_reason, type, NULL, NULL, NULL, NULL, NULL, NULL
    FROM payment_modalities
    WHERE merchant_id = $1 AND claim_id = $2 AND ended_at IS NOT NULL AND ended_reason <> 'REJECTED'
    UNION ALL
    SELECT 'PAUSE', since, hold_id, NULL, NULL, reason, NULL, until, actor_kind, actor_id, NULL
    FROM holds
    WHERE merchant_id = $1 AND claim_id = $2 AND kind = 'PAUSE'
    UNION ALL
    SELECT 'RESUME', lifted_at, hold_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM holds
    WHERE merchant_id = $1 AND claim_id = $2 AND kind = 'PAUSE' AND lifted_at IS NOT NULL
    UNION ALL
    SELECT 'STEP', h.at, NULL, h.outcome, s.step ->> 'name', h.reason, NULL, NULL, s.step ->> 'kind',
           NULL,
           ARRAY[h.run, coalesce(s.ordinality::integer, CASE h.step_id WHEN 0 THEN 2147483647 ELSE 0 END),
                 32767]
    FROM step_history h
    LEFT JOIN workflow_versions v ON v.merchant_id = h.merchant_id AND v.version_id = h.version_id
    LEFT JOIN LATERAL (
        SELECT step, ordinality
        FROM jsonb_array_elements(v.definition -> 'steps') WITH ORDINALITY AS each (step, ordinality)
        WHERE (step ->> 'id')::integer = h.step_id) s ON true
    WHERE h.merchant_id = $1 AND h.claim_id = $2
    UNION ALL
    SELECT 'LOOK', occurred_at, event_id, NULL, NULL, NULL, NULL, NULL, 'DEBTOR', NULL, NULL
    FROM events
    WHERE merchant_id = $1 AND claim_id = $2 AND type = 'DETAILS_ACCESSED'
    UNION ALL
    SELECT 'NOTE', written_at, note_id, NULL, NULL, text, NULL, NULL, actor_kind, actor_id, NULL
    FROM claim_notes
    WHERE merchant_id = $1 AND claim_id = $2
    UNION ALL
    SELECT 'REPLY', received_at, reply_id,
           CASE WHEN is_automatic THEN 'AUTOMATIC' WHEN read_at IS NULL THEN 'UNSEEN' ELSE 'SEEN' END,
           array_to_string(file_names, ', '), coalesce(nullif(text, ''), subject), NULL, NULL,
           'DEBTOR', NULL, NULL
    FROM debtor_replies
    WHERE merchant_id = $1 AND claim_id = $2
    UNION ALL
    SELECT 'CHANGE', at, audit_id, action, NULL, NULL, NULL, NULL, actor_kind, actor_id, NULL
    FROM audit_log
    WHERE merchant_id = $1 AND subject = 'claim:' || $2::bigint AND action <> 'claims.create'
      AND action = ANY($3::text[])
) AS happened
-- Of entries with the same timestamp, the creation of the claim is the oldest.
ORDER BY at DESC, kind = 'CREATED', CASE kind WHEN 'CONTACT' THEN 'STEP' ELSE kind END DESC,
         turn DESC NULLS LAST
LIMIT $4
