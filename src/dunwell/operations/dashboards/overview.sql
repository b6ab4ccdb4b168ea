-- The figures of one merchant at a glance. Counting stops at $2; sums of payments and counts of
-- messages cover only the newest $7 rows.
SELECT json_build_object(
    'states', (
        SELECT json_object_agg(wanted.status, (
            SELECT count(*)
            FROM (
                SELECT FROM claims c
                WHERE c.merchant_id = $1 AND c.status = wanted.status
                LIMIT $2) found))
        FROM unnest($4::text[]) AS wanted (status)),
    'held', (
        SELECT count(*)
        FROM (SELECT FROM claims WHERE merchant_id = $1 AND held LIMIT $2) found),
    'tomorrow', (
        SELECT coalesce(json_agg(json_build_array(workflow_id, workflow_major, step_id, number)),
                        '[]')
        FROM (
            SELECT workflow_id, workflow_major, next_step_id AS step_id, count(*) AS number
            FROM (
                SELECT workflow_id, workflow_major, next_step_id FROM claims
                WHERE merchant_id = $1 AND due_at >= $5 AND due_at < $6 AND due_at IS NOT NULL
                  AND NOT held
                LIMIT $2) found
            GROUP BY 1, 2, 3) by_step),
    'contacts', (
        SELECT coalesce(json_object_agg(channel, states), '{}')
        FROM (
            SELECT channel, json_object_agg(state, number) AS states
            FROM (
                SELECT channel, state, count(*) AS number
                FROM (
                    SELECT channel, state, planned_at FROM communications
                    WHERE merchant_id = $1
                    ORDER BY written_by DESC, communication_id DESC
                    LIMIT $7) newest
                WHERE planned_at >= $3
                GROUP BY channel, state) counted
            GROUP BY channel) by_channel),
    'paid', (
        SELECT coalesce(json_agg(json_build_array(day, currency, cents, number)
                                 ORDER BY day, currency), '[]')
        FROM (
            SELECT (recorded_at AT TIME ZONE $8)::date AS day, currency,
                   sum(amount_cents)::bigint AS cents, count(*) AS number
            FROM (
                SELECT recorded_at, currency, amount_cents - returned_cents AS amount_cents
                FROM payments
                WHERE merchant_id = $1 AND reversed_at IS NULL
                ORDER BY written_by DESC, payment_id DESC
                LIMIT $7) newest
            WHERE recorded_at >= $9
            GROUP BY 1, 2) by_day),
    'is_cut', (
        SELECT count(*) = $7
        FROM (SELECT FROM payments WHERE merchant_id = $1 LIMIT $7) found)
)::text
