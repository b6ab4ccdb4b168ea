-- What a merchant of a million claims has, table by table: a query for each, whose rows are brought
-- in by COPY. The first is the claims themselves, which the others are made from; it is no table of
-- the service's. Numbers that share no factor spread what is rare over all of it.

-- crowd
SELECT n, (ARRAY[{merchants}])[CASE WHEN n % 20 < 16 THEN 1 ELSE n % 20 - 14 END] AS m,
       {base}::bigint + n AS claim_id, s, status, {first}::bigint + n / 1000 AS tx,
       timestamptz '{now}' - ({rows} - n) * {step} AS at,
       status = 'IN_PROCESS' AND s < 80 AS is_disputed,
       status = 'IN_PROCESS' AND s BETWEEN 700 AND 899 AS is_paused,
       status = 'IN_PROCESS' AND s BETWEEN 900 AND 919 AS is_asking,
       status = 'IN_PROCESS' AND s BETWEEN 920 AND 1199 AS is_deferred
FROM generate_series(1, {rows}) n,
LATERAL (SELECT n * 7919::bigint % 997 AS r, n * 104729::bigint % 9973 AS s) drawn,
LATERAL (
    SELECT CASE WHEN r < 50 THEN 'CREATED' WHEN r < 550 THEN 'IN_PROCESS'
                WHEN r < 850 THEN 'COLLECTED' WHEN r < 950 THEN 'ARCHIVED'
                ELSE 'WITHDRAWN' END AS status) known

-- claims
SELECT m AS merchant_id, claim_id, 'RE-2026-' || lpad(n::text, 8, '0') AS reference_number,
       'EUR' AS currency, status,
       CASE WHEN status = 'COLLECTED' THEN 'IN_PROCESS' END AS status_before_collected,
       w.workflow_id, 1 AS workflow_major, 1 AS run,
       CASE WHEN status IN ('CREATED', 'IN_PROCESS') THEN 1 END AS next_step_id,
       -- Most wait for the morning: very many fall due at one instant.
       CASE WHEN status IN ('CREATED', 'IN_PROCESS') AND s < 9900
            THEN date_trunc('day', timestamptz '{now}')
                 + n * 31 % 30 * interval '1 day' + interval '1 day 8 hours'
                 + CASE WHEN n % 3 = 0 THEN n % 600 * interval '1 minute' ELSE interval '0' END
       END AS due_at,
       is_disputed OR is_paused OR is_asking OR is_deferred AS held, 2 AS event_sequence,
       at AS created_at, least(at + n % 7 * interval '1 day', '{now}') AS updated_at,
       1 AS rules_version, tx AS written_by
FROM crowd JOIN workflows w ON w.merchant_id = m
    AND w.name = CASE WHEN status = 'CREATED' AND s % 250 = 0 THEN '{seldom}' ELSE '{workflow}' END

-- debtors
SELECT m AS merchant_id, claim_id, {first_name} AS first_name, {last_name} AS last_name,
       CASE WHEN n % 12 = 0 THEN 'Handel ' || n % 5000 || ' GmbH' END AS company_name,
       'debtor.' || n || '@example' || n % 40 || '.org' AS email,
       '+49151' || lpad(n::text, 8, '0') AS mobile_number, 'de' AS language,
       'K-' || lpad((n / 3)::text, 7, '0') AS customer_number,
       CASE WHEN n % 2 = 0 THEN 'V' || n END AS contract_number,
       '{{"street": "Heidestraße 17", "postal_code": "51147", "city": "Köln", "country": "DE"}}'
       AS address
FROM crowd

-- items
SELECT m AS merchant_id, claim_id, claim_id * 2 + k AS item_id, k AS position,
       'RE-2026-' || n AS reference, CASE k WHEN 0 THEN 'PRIMARY' ELSE 'DUNNING_FEE' END AS type,
       CASE k WHEN 0 THEN 1000 + n * 37 % 90000 ELSE 250 END AS value_cents,
       at::date AS item_date, at::date + 14 AS due_date
FROM crowd, generate_series(0, 1) k WHERE k = 0 OR n % 3 = 0

-- holds
SELECT m AS merchant_id, claim_id, {id} AS hold_id,
       CASE WHEN is_disputed THEN 'DISPUTE' WHEN is_paused THEN 'PAUSE'
            WHEN is_asking THEN 'MODALITY_REQUESTED' WHEN is_deferred THEN 'MODALITY_ACTIVE'
            ELSE 'PAUSE' END AS kind,
       at AS since,
       CASE WHEN is_disputed OR is_paused OR is_asking OR is_deferred THEN NULL ELSE '{now}' END
       AS lifted_at, 'CREDENTIAL' AS actor_kind
FROM crowd
WHERE is_disputed OR is_paused OR is_asking OR is_deferred OR s BETWEEN 3000 AND 3200

-- communications
SELECT m AS merchant_id, {id} AS communication_id, claim_id, 1 AS run, k + 1 AS step_id, 0 AS place,
       {channel} AS channel, {sent} AS state, sent_at AS not_before, v.version_id,
       sent_at AS planned_at,
       CASE WHEN {sent} IN ('ACCEPTED', 'UNKNOWN', 'FAILED') THEN sent_at END AS handed_over_at,
       CASE WHEN {sent} IN ('ACCEPTED', 'FAILED', 'CANCELLED') THEN sent_at END AS settled_at,
       CASE WHEN {sent} = 'FAILED' THEN '550 no such mailbox' END AS failure,
       {first}::bigint + (n + k * 20160) / 1000 AS written_by
FROM crowd, generate_series(0, 1) k,
LATERAL (SELECT at + k * interval '7 days' AS sent_at) planned, workflow_versions v
WHERE v.merchant_id = m AND v.workflow_id = (
    SELECT workflow_id FROM workflows w WHERE w.merchant_id = m AND w.name = '{workflow}')
  AND status <> 'CREATED' AND (k = 0 OR n % 2 = 0) AND n + k * 20160 <= {rows}

-- letter_batches
SELECT {id} AS batch_id, 'printer' AS provider, 'RELEASED' AS state, 100 AS letters, 100 AS pages,
       ''::bytea AS manifest, at AS created_at, at AS released_at
FROM crowd WHERE n % 500 = 0

-- letter_batch_items
SELECT c.merchant_id, communication_id, 'printer' AS provider, 'DW-' || communication_id AS reference,
       CASE WHEN is_asked THEN 'WAITING' ELSE 'BATCHED' END AS state,
       CASE WHEN NOT is_asked THEN b.batch_id END AS batch_id,
       CASE WHEN is_asked THEN 'UNCONFIRMED' END AS doubt, 'DE' AS country, 1 AS pages,
       '[]'::jsonb AS files, planned_at AS started_at, planned_at AS handed_at,
       CASE WHEN claim_id % 50 = 7 THEN 'RETURNED' ELSE 'POSTED' END AS status,
       planned_at AS status_at
FROM communications c, LATERAL (SELECT claim_id % 97 = 0 AS is_asked) drawn,
(SELECT batch_id, row_number() OVER (ORDER BY batch_id) AS number FROM letter_batches) b
WHERE channel = 'LETTER' AND c.state = 'ACCEPTED' AND b.number = (claim_id - {base}) / 500

-- inbound_sms
SELECT {id} AS inbound_id, 'texts' AS provider, 'S' || n AS provider_message_id,
       '+49151' || lpad(n::text, 8, '0') AS sender, '+4930123456' AS recipient,
       'Please call me.' AS text, at AS received_at,
       CASE WHEN n % 100 = 0 THEN 'UNMATCHED' ELSE 'STOP' END AS kind,
       CASE WHEN n % 1000 > 0 AND n % 100 = 0 THEN at END AS read_at
FROM crowd WHERE n % 10 = 0

-- delivery_reports
SELECT {id} AS report_id, 'texts' AS provider, 'R' || n AS provider_message_id, 'DELIVERED' AS state,
       at AS happened_at, '' AS reason, 'OTHER' AS cause, ''::bytea AS raw, at AS received_at,
       CASE WHEN n % 100 = 1 THEN 'UNMATCHED' ELSE 'DELIVERED' END AS outcome, at AS handled_at,
       CASE WHEN n % 1000 > 1 AND n % 100 = 1 THEN at END AS read_at
FROM crowd WHERE n % 10 = 1

-- communication_contents
SELECT merchant_id, communication_id, 'debtor.' || claim_id || '@example.org' AS recipient,
       'de' AS language, 'Ihre Rechnung ist noch offen' AS subject,
       repeat('Bitte überweisen Sie. ', 8) AS body_text
FROM communications

-- payments
SELECT m AS merchant_id, {id} AS payment_id, claim_id,
       CASE status WHEN 'COLLECTED' THEN 1000 + n * 37 % 90000 ELSE 500 END AS amount_cents,
       'EUR' AS currency, 'TX-' || n AS transaction_id,
       CASE WHEN n % 100 = 99 THEN 'cash' WHEN n % 5 < 3 THEN 'sandbox' ELSE 'bank' END
       AS provider_name, paid_at, paid_at AS recorded_at,
       CASE WHEN s < 40 THEN paid_at END AS reversed_at,
       CASE WHEN s >= 40 THEN 0 WHEN status = 'COLLECTED' THEN 1000 + n * 37 % 90000 ELSE 500 END
       AS returned_cents,
       {first}::bigint + (n + 28800) / 1000 AS written_by
FROM crowd, LATERAL (SELECT at + interval '10 days' AS paid_at) known
WHERE n + 28800 <= {rows} AND (status = 'COLLECTED' OR status = 'IN_PROCESS' AND s % 10 = 0)

-- allocations
SELECT merchant_id, claim_id, payment_id, claim_id * 2 AS item_id, amount_cents
FROM payments WHERE reversed_at IS NULL

-- bank_accounts
SELECT DISTINCT m AS merchant_id, 'main' AS account, 'DE89370400440532013000' AS iban,
       'Muster GmbH' AS holder, date '{now}' AS reported_until, timestamptz '{now}' AS created_at
FROM crowd

-- bank_files
SELECT m AS merchant_id, {id} AS file_id, 'main' AS account, 'day-' || n || '.xml' AS name,
       400000 AS size_bytes, '\x00'::bytea AS content_hash, 'DONE' AS state, 400 AS entry_count,
       400 AS read_count, 400 AS new_count, 360 AS matched_count, 'SYSTEM' AS actor_kind,
       at AS created_at, at AS finished_at, tx AS written_by
FROM crowd WHERE n % 1000 = 0

-- bank_statements
SELECT m AS merchant_id, 'main' AS account, decode(md5(n::text), 'hex') AS statement_hash,
       {id} AS file_id, 'S-' || n AS statement_id, 'STATEMENT' AS kind, at::date AS period_from,
       at::date AS period_to, 'EUR' AS currency, 400 AS entry_count, at AS imported_at
FROM crowd WHERE n % 1000 = 0

-- bank_entries
SELECT m AS merchant_id, 'main' AS account, {id} AS entry_id, md5(n::text) || md5(n::text)
       AS entry_key, decode(md5((n - n % 1000)::text), 'hex') AS statement_hash, 'BOOK' AS status,
       n % 1000 + 1 AS position, 1000 + n * 37 % 90000 AS amount_cents, 'EUR' AS currency,
       at::date AS booked_on, at::date AS value_on, 'B-' || n AS bank_reference
FROM crowd WHERE n % 2 = 0 AND n % 20 < 16 AND n >= 1000

-- bank_transactions
SELECT merchant_id, entry_id, 1 AS number, account, amount_cents, currency, booked_on,
       CASE WHEN position % 10 = 5 THEN 'OPEN' ELSE 'MATCHED' END AS state,
       CASE WHEN position % 10 = 5 THEN 0 ELSE amount_cents END AS matched_cents,
       'E-' || bank_reference AS end_to_end_id,
       'RE-2026-' || lpad(substr(bank_reference, 3), 8, '0') || ' RE-2026-00000100'
       AS remittance_text, 'Erika Muster' AS counterparty_name,
       decode(md5('payer' || position % 90), 'hex') AS counterparty_digest, {first}::bigint
       AS written_by
FROM bank_entries

-- bank_matches
SELECT merchant_id, {id} AS match_id, 'MATCHED' AS kind, {id} AS entry_id, 1 AS number, claim_id,
       payment_id, amount_cents, 'REFERENCE' AS rule,
       '{{"code": "BY_HAND", "facts": {{}}}}'::jsonb AS reason, 'SYSTEM' AS actor_kind,
       at AS matched_at, written_by
FROM (SELECT p.*, c.n, c.at FROM crowd c JOIN payments p
      ON p.merchant_id = c.m AND p.claim_id = c.claim_id
      WHERE c.n % 2 = 0 AND c.n % 20 < 16 AND c.n >= 1000 AND (c.n % 1000 + 1) % 10 <> 5) booked

-- payer_accounts
SELECT m AS merchant_id, decode(md5('payer' || n % 90), 'hex') AS payer_digest, claim_id,
       at AS seen_at
FROM crowd WHERE n % 2 = 0

-- payment_movements
SELECT m AS merchant_id, {id} AS record_id, 'stripe' AS provider, 'ch_' || n AS movement_id,
       'PAID' AS kind, p.claim_id, payment_id, amount_cents, currency, amount_cents AS booked_cents,
       paid_at AS moved_at, recorded_at, p.written_by
FROM crowd JOIN payments p ON p.merchant_id = m AND p.claim_id = crowd.claim_id
WHERE provider_name = 'sandbox'

-- provider_payouts
SELECT m AS merchant_id, {id} AS record_id, 'stripe' AS provider, 'po_' || n AS payout_id,
       CASE WHEN s < 200 THEN -5000 ELSE 5000 END AS amount_cents,
       50 AS fees_cents, 'EUR' AS currency, at AS paid_at, at AS recorded_at, movements,
       CASE WHEN s >= 500 THEN at END AS arrived_at,
       CASE WHEN has_entry THEN {id} END AS entry_id, CASE WHEN has_entry THEN 1 END AS number,
       tx AS written_by
FROM crowd,
LATERAL (SELECT s >= 500 AND n % 20 < 16 AND n >= 1000 AS has_entry) known,
LATERAL (SELECT jsonb_agg(jsonb_build_array('ch_' || each, 50)) AS movements
         FROM generate_series(n - 99, n) each) listed
WHERE n % 100 = 0

-- payment_requests
SELECT m AS merchant_id, {id} AS request_id, claim_id, 'sandbox' AS provider,
       'sandbox' AS provider_name, 1000 AS amount_cents, 'EUR' AS currency, 'RE-' || n AS reference,
       CASE WHEN s < 40 AND status = 'IN_PROCESS' THEN 'PENDING'
            WHEN s < 200 THEN 'FAILED' WHEN s < 900 THEN 'EXPIRED' ELSE 'COMPLETED' END AS state,
       at AS created_at, at AS settled_at, tx AS written_by
FROM crowd WHERE n % 4 = 1

-- payment_modalities
SELECT m AS merchant_id, {id} AS modality_id, claim_id, 'PAYMENT_DEFEREMENT' AS type,
       CASE WHEN is_asking THEN 'REQUESTED' WHEN is_deferred OR s % 3 > 0 THEN 'APPROVED'
            ELSE 'REJECTED' END AS state,
       5000 AS amount_cents, 0 AS paid_before_cents, date '{now}' + 20 AS deferred_until,
       at AS requested_at, 'DEBTOR' AS actor_kind, CASE WHEN NOT is_asking THEN at END AS answered_at,
       CASE WHEN NOT (is_asking OR is_deferred) THEN at END AS ended_at,
       CASE WHEN NOT (is_asking OR is_deferred) THEN 'PASSED' END AS ended_reason,
       tx AS written_by
FROM crowd WHERE is_asking OR is_deferred OR s BETWEEN 1200 AND 1600

-- disputes
SELECT m AS merchant_id, {id} AS dispute_id, claim_id,
       CASE n % 2 WHEN 0 THEN 'DEFECTIVE' ELSE 'GOODS_NOT_RECEIVED' END AS type,
       'The parcel never came.' AS message,
       CASE WHEN is_disputed THEN 'OPEN' WHEN s % 2 = 0 THEN 'ACCEPTED' ELSE 'REJECTED' END
       AS state, {id} AS hold_id, 'DEBTOR' AS actor_kind, at AS opened_at,
       CASE WHEN NOT is_disputed THEN at END AS resolved_at, tx AS written_by
FROM crowd WHERE is_disputed OR s BETWEEN 80 AND 699

-- suppressions
SELECT m AS merchant_id, CASE WHEN n % 500 = 0 THEN 'SMS' ELSE 'EMAIL' END AS channel,
       sha256(n::text::bytea) AS address_digest, 'd***@example.org' AS masked_address,
       CASE WHEN n % 7 = 0 THEN 'DEBTOR' ELSE 'BOUNCE' END AS reason, at AS created_at,
       'SYSTEM' AS actor_kind, tx AS written_by
FROM crowd WHERE n % 10 = 0

-- events
SELECT m AS merchant_id, {id} AS event_id, claim_id, k + 1 AS sequence,
       CASE WHEN k = 0 THEN 'ESCALATED' WHEN s < 700 THEN 'DISPUTED'
            WHEN status = 'COLLECTED' THEN 'PAYMENT_COMPLETED' ELSE 'CHECKPOINT_REACHED' END AS type,
       at AS occurred_at, tx AS written_by, repeat('e', 200) AS body
FROM crowd, generate_series(0, 1) k

-- deliveries
SELECT e.merchant_id, w.endpoint_id, e.event_id,
       CASE e.claim_id % 499 WHEN 0 THEN 'GIVEN_UP' WHEN 1 THEN 'PENDING' ELSE 'DELIVERED' END
       AS state, 1 AS attempts,
       CASE WHEN e.claim_id % 499 = 1 THEN timestamptz '{now}' + interval '1 day' END AS due_at
FROM events e JOIN webhook_endpoints w ON w.merchant_id = e.merchant_id

-- delivery_attempts
SELECT d.merchant_id, d.endpoint_id, d.event_id, 1 AS attempt, e.occurred_at AS at, 40 AS duration_ms,
       CASE d.state WHEN 'DELIVERED' THEN 204 ELSE 503 END AS status
FROM deliveries d JOIN events e ON e.merchant_id = d.merchant_id AND e.event_id = d.event_id

-- step_history
SELECT merchant_id, claim_id, 1 AS run, step_id, version_id, 'DONE' AS outcome, planned_at AS at
FROM communications

-- claim_notes
SELECT m AS merchant_id, {id} AS note_id, claim_id, at AS written_at, 'USER' AS actor_kind,
       '{user}' AS actor_id, 'Called, nobody there.' AS text
FROM crowd WHERE n % 20 = 3

-- debtor_notices
SELECT m AS merchant_id, {id} AS notice_id, claim_id, 'RECEIPT' AS kind, 'EMAIL' AS channel,
       'de' AS language, 'ACCEPTED' AS state, at AS dated_at, at AS created_at, at AS expires_at,
       at AS settled_at
FROM crowd WHERE n % 5 = 0

-- audit_log
SELECT m AS merchant_id, {id} AS audit_id, at,
       CASE WHEN n % 40 = 7 THEN 'USER' ELSE 'CREDENTIAL' END AS actor_kind,
       CASE WHEN n % 40 = 7 THEN '{user}' ELSE 'erp' END AS actor_id,
       CASE WHEN n % 40 = 7 THEN 'claim.look' WHEN n % 4 = 1 THEN 'payment.record'
            ELSE 'claims.create' END AS action,
       CASE WHEN n % 4 > 0 THEN 'claim:' || claim_id ELSE 'merchant:' || m END AS subject,
       n / 500 AS seal
FROM crowd WHERE n % 2 = 1 OR n % 20 = 0

-- installation_audit
SELECT {id} AS audit_id, at, 'USER' AS actor_kind, '{user}' AS actor_id,
       CASE WHEN n % 3 = 0 THEN 'session.refuse' ELSE 'session.begin' END AS action,
       'user:' || CASE WHEN n % 30 = 0 THEN '{user}' ELSE 'unknown' END AS subject, n / 500 AS seal
FROM crowd WHERE n % 10 = 0

-- jobs
SELECT m AS merchant_id, {id} AS job_id, 'PAUSE' AS kind, '{{"type": "PAUSE"}}' AS parameters,
       'DONE' AS state, 'USER' AS actor_kind, '{user}' AS actor_id, '{{}}'::text[] AS actor_rights,
       100 AS total, 90 AS done, 10 AS skipped, at AS created_at, at AS started_at, at AS ended_at,
       at + interval '2 years' AS kept_until, tx AS written_by,
       1 AS live_slot
FROM crowd WHERE n % 2000 = 0

-- job_rows
SELECT m AS merchant_id, {id} AS job_id, k AS position, claim_id - k AS claim_id,
       CASE WHEN k > 90 THEN 'SKIPPED' ELSE 'DONE' END AS outcome,
       CASE WHEN k > 90 THEN 'ENDED' END AS reason
FROM crowd, generate_series(1, 100) k WHERE n % 2000 = 0

-- users
SELECT {id} AS user_id, 'person.' || n || '@example.org' AS email,
       'person.' || n || '@example.org' AS email_key, 'Person ' || n AS name, 'de' AS language,
       at AS created_at, at AS joined_at
FROM crowd WHERE n % 3000 = 0

-- claim_search
SELECT DISTINCT m AS merchant_id, claim_id, term
FROM crowd,
LATERAL unnest(ARRAY[
    claim_id::text, 're-2026-' || lpad(n::text, 8, '0'), 'k-' || lpad((n / 3)::text, 7, '0'),
    CASE WHEN n % 2 = 0 THEN 'v' || n END, lower({first_name}), lower({last_name}),
    CASE WHEN n % 12 = 0 THEN 'handel' END, CASE WHEN n % 12 = 0 THEN (n % 5000)::text END,
    CASE WHEN n % 12 = 0 THEN 'gmbh' END, 'debtor.' || n || '@example' || n % 40 || '.org',
    '49151' || lpad(n::text, 8, '0'), '0151' || lpad(n::text, 8, '0')]) AS words (term)
WHERE term IS NOT NULL

