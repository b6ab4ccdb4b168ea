-- Move a scenario's claims to the steps at which they continue after an edit, in one statement.
-- Planned contacts of removed steps are cancelled, and their claims continue at once; a contact
-- that was handed over still gets its outcome. $1 merchant, $2 workflow, $3 version, $4 now, $5
-- first step, $6 old and $7 new steps (0: after the last), $8 removed steps. The claims are locked.
WITH cancelled AS (
    UPDATE communications m
    SET state = 'CANCELLED', settled_at = $4, lease_id = NULL, lease_until = NULL, held_by = NULL,
        failure = 'Its step was removed from the workflow.'
    FROM claims c
    WHERE c.merchant_id = $1 AND c.workflow_id = $2 AND c.status IN ('CREATED', 'IN_PROCESS')
      AND m.merchant_id = $1 AND m.claim_id = c.claim_id AND m.run = c.run
      AND m.step_id = ANY($8::integer[]) AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING')
    RETURNING m.claim_id
), placed AS MATERIALIZED (
    SELECT c.claim_id, c.run, c.next_step_id AS from_step_id,
           x.claim_id IS NOT NULL AND c.due_at IS NULL AS continues_now,
           CASE WHEN coalesce(c.status_before_collected, c.status) = 'CREATED' THEN $5
                WHEN n.from_step_id IS NOT NULL THEN nullif(n.to_step_id, 0)
                ELSE c.next_step_id END AS to_step_id
    FROM claims c
    LEFT JOIN unnest($6::integer[], $7::integer[]) AS n (from_step_id, to_step_id)
        ON n.from_step_id = coalesce(c.next_step_id, 0)
    LEFT JOIN cancelled x ON x.claim_id = c.claim_id
    WHERE c.merchant_id = $1 AND c.workflow_id = $2
      AND c.status IN ('CREATED', 'IN_PROCESS', 'COLLECTED')
), moved AS (
    UPDATE claims c
    SET next_step_id = p.to_step_id, due_at = CASE WHEN p.continues_now THEN $4 ELSE c.due_at END,
        updated_at = $4
    FROM placed p
    WHERE c.merchant_id = $1 AND c.claim_id = p.claim_id
      AND (p.continues_now OR p.to_step_id IS DISTINCT FROM p.from_step_id)
)
-- The history names the removed step at which a claim was, as skipped.
INSERT INTO step_history (merchant_id, claim_id, run, step_id, version_id, outcome, reason, at)
SELECT $1, claim_id, run, from_step_id, $3, 'SKIPPED', 'TAKEN_OUT', $4
FROM placed
WHERE from_step_id = ANY($8::integer[])
ON CONFLICT (merchant_id, claim_id, run, step_id) DO NOTHING
