-- Stores the claims of a set of requests with debtors, items, attachments and an audit row for each
-- request: all or nothing, in one statement. $1 merchant, $2 claims, $3 items, $4 attachments,
-- $5 requests (JSON arrays; `n` numbers the claim, `request` the request), $6 now, $7 version of the
-- rules. A claim without a reserved id gets the next one. A claim whose workflow was deleted since
-- the rules were read stays unassigned; the statement waits for a deletion in progress (primary key
-- of workflows). If the merchant already uses a reference, nothing is created for its claim (index
-- claims_reference), and the id of the claim that has the reference is returned. The lists of the
-- debtor's columns are inserted by the caller.
WITH submitted AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset($2::json) AS s (
        n integer, request integer, reference_number text, currency text,
        workflow_id uuid, workflow_major integer, next_step_id integer, due_at timestamptz,
        claim_id bigint, {record})
), held AS MATERIALIZED (
    SELECT workflow_id
    FROM workflows
    WHERE merchant_id = $1 AND workflow_id = ANY(ARRAY(SELECT workflow_id FROM submitted))
      AND deleted_at IS NULL
    ORDER BY workflow_id
    FOR KEY SHARE
), created AS (
    INSERT INTO claims (merchant_id, claim_id, reference_number, currency, workflow_id,
                        workflow_major, run, next_step_id, due_at, rules_version, created_at,
                        updated_at, written_by)
    SELECT $1, coalesce(claim_id, nextval('claims_claim_id_seq')), reference_number, currency,
           h.workflow_id, CASE WHEN h.workflow_id IS NOT NULL THEN workflow_major END,
           CASE WHEN h.workflow_id IS NULL THEN 0 ELSE 1 END,
           CASE WHEN h.workflow_id IS NOT NULL THEN next_step_id END,
           CASE WHEN h.workflow_id IS NOT NULL THEN due_at END,
           CASE WHEN h.workflow_id IS NOT NULL THEN $7::integer END, $6, $6,
           {written_by}
    FROM submitted s
    LEFT JOIN held h ON h.workflow_id = s.workflow_id
    -- A fixed order, so that two requests with the same references cannot deadlock.
    ORDER BY reference_number
    ON CONFLICT (merchant_id, reference_number) DO NOTHING
    RETURNING claim_id, reference_number, written_by
), queued_for_search AS (
    -- The worker writes the search terms as soon as this transaction has committed. All the claims have
    -- the same written_by.
    INSERT INTO claim_search_queue (merchant_id, written_by)
    SELECT $1, written_by
    FROM created
    LIMIT 1
), placed AS MATERIALIZED (
    SELECT s.n, s.request, c.claim_id, {columns}
    FROM submitted s
    JOIN created c USING (reference_number)
), stored_debtors AS (
    INSERT INTO debtors (merchant_id, claim_id, {columns})
    SELECT $1, claim_id, {columns}
    FROM placed
), stored_items AS (
    INSERT INTO items (merchant_id, claim_id, position, reference, type, value_cents, item_date,
                       due_date)
    SELECT $1, p.claim_id, i.position, i.reference, i.type, i.value_cents, i.item_date, i.due_date
    FROM json_to_recordset($3::json) AS i (
        n integer, position integer, reference text, type text, value_cents bigint, item_date date,
        due_date date)
    JOIN placed p USING (n)
), stored_attachments AS (
    INSERT INTO attachments (merchant_id, claim_id, attachment_id, ticket_id, position, created_at)
    SELECT $1, p.claim_id, a.attachment_id, a.ticket_id, a.position, $6
    FROM json_to_recordset($4::json) AS a (
        n integer, position integer, attachment_id uuid, ticket_id uuid)
    JOIN placed p USING (n)
), audited AS (
    INSERT INTO audit_log (merchant_id, audit_id, at, actor_kind, actor_id, action, subject, details,
                           origin)
    SELECT $1, r.audit_id, $6, r.actor_kind, r.actor_id, 'claims.create', 'merchant:' || $1,
           jsonb_build_object('claimIds', jsonb_agg(p.claim_id ORDER BY p.claim_id)),
           r.origin
    FROM json_to_recordset($5::json) AS r (
        request integer, audit_id uuid, actor_kind text, actor_id text, origin jsonb)
    JOIN placed p USING (request)
    GROUP BY r.audit_id, r.actor_kind, r.actor_id, r.origin
)
SELECT s.n, p.claim_id,
       CASE WHEN p.claim_id IS NULL THEN (
           SELECT present.claim_id
           FROM claims present
           WHERE present.merchant_id = $1 AND present.reference_number = s.reference_number)
       END AS present_claim_id
FROM submitted s
LEFT JOIN placed p USING (n)
