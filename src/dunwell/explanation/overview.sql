-- What waits for a person at one merchant, and what is to be seen at a glance: counts up to $2 and
-- no further, each along an index that holds nothing else.
SELECT json_build_object(
    'disputes', (
        SELECT json_build_array(count(*), min(opened_at))
        FROM (
            SELECT opened_at FROM disputes
            WHERE merchant_id = $1 AND state = 'OPEN'
            ORDER BY written_by, dispute_id
            LIMIT $2) found),
    'overdue', (
        SELECT json_build_array(count(*), min(opened_at))
        FROM (
            SELECT opened_at FROM disputes
            WHERE merchant_id = $1 AND state = 'OPEN' AND opened_at < $3
            ORDER BY written_by, dispute_id
            LIMIT $2) found),
    'plans', (
        SELECT json_build_array(count(*), min(requested_at))
        FROM (
            SELECT requested_at FROM payment_modalities
            WHERE merchant_id = $1 AND state = 'REQUESTED' AND ended_at IS NULL
            ORDER BY written_by, modality_id
            LIMIT $2) found),
    'unknown', (
        SELECT json_build_array(count(*), min(planned_at))
        FROM (
            SELECT planned_at FROM communications
            WHERE merchant_id = $1 AND state = 'UNKNOWN'
            ORDER BY written_by, communication_id
            LIMIT $2) found),
    'bounces', (
        SELECT json_build_array(count(*), min(settled_at))
        FROM (
            SELECT settled_at FROM communications
            WHERE merchant_id = $1 AND state = 'FAILED'
            ORDER BY written_by DESC, communication_id DESC
            LIMIT $2) found
        WHERE settled_at >= $4),
    'endpoints', (
        SELECT json_build_array(count(*), min(coalesce(first_failure_at, disabled_at)))
        FROM webhook_endpoints
        WHERE merchant_id = $1 AND removed_at IS NULL
          AND (disabled_at IS NOT NULL OR first_failure_at IS NOT NULL)),
    'states', (
        SELECT json_object_agg(wanted.status, (
            SELECT count(*)
            FROM (
                SELECT FROM claims c
                WHERE c.merchant_id = $1 AND c.status = wanted.status
                LIMIT $2) found))
        FROM unnest($5::text[]) AS wanted (status)),
    'held', (
        SELECT count(*)
        FROM (SELECT FROM claims WHERE merchant_id = $1 AND held LIMIT $2) found),
    'tomorrow', (
        SELECT count(*)
        FROM (
            SELECT FROM claims
            WHERE merchant_id = $1 AND due_at >= $6 AND due_at < $7 AND due_at IS NOT NULL
              AND NOT held
            LIMIT $2) found),
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
                    LIMIT $8) newest
                WHERE planned_at >= $4
                GROUP BY channel, state) counted
            GROUP BY channel) by_channel),
    'paid', (
        SELECT coalesce(json_agg(json_build_array(day, currency, cents, number)
                                 ORDER BY day, currency), '[]')
        FROM (
            SELECT (recorded_at AT TIME ZONE $9)::date AS day, currency,
                   sum(amount_cents)::bigint AS cents, count(*) AS number
            FROM (
                SELECT recorded_at, currency, amount_cents FROM payments
                WHERE merchant_id = $1 AND reversed_at IS NULL
                ORDER BY written_by DESC, payment_id DESC
                LIMIT $8) newest
            WHERE recorded_at >= $10
            GROUP BY 1, 2) by_day),
    'is_cut', (
        SELECT count(*) = $8
        FROM (SELECT FROM payments WHERE merchant_id = $1 LIMIT $8) found)
)::text
