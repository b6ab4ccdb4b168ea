-- The gate at the moment of sending: marks as handed over, with their content, those leased
-- contacts whose claims are still as they were rendered, in process and not held. Answers which.
-- $1 merchant, $2 its time, $3 lease, $4 lease's end; $5-$16 contacts. Locks claims before
-- anything else, in the order of their ids.
WITH rendered AS (
    SELECT *
    FROM unnest($5::uuid[], $6::bigint[], $7::uuid[], $8::text[], $9::text[], $10::text[],
                $11::text[], $12::text[], $13::bytea[], $14::bytea[], $15::text[], $16::text[])
        AS r (communication_id, claim_version, version_id, recipient, language, subject, body_text,
              body_html, link_hash, code_digest, document_key, attachment_ids)
), passed AS MATERIALIZED (
    SELECT m.communication_id, m.claim_id
    FROM rendered r
    JOIN communications m ON m.merchant_id = $1 AND m.communication_id = r.communication_id
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
    WHERE m.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND m.lease_id = $3 AND NOT c.held
      AND c.xmin::text::bigint = r.claim_version AND c.status IN ('CREATED', 'IN_PROCESS')
      AND c.run = m.run
    ORDER BY c.claim_id
    FOR NO KEY UPDATE OF c, m
), marked AS (
    UPDATE communications m
    SET state = 'HANDED_OVER', handed_over_at = $2, version_id = r.version_id, lease_until = $4,
        tries = tries + 1
    FROM passed
    JOIN rendered r USING (communication_id)
    WHERE m.merchant_id = $1 AND m.communication_id = passed.communication_id
), kept AS (
    INSERT INTO communication_contents
        (merchant_id, communication_id, recipient, language, subject, body_text, body_html,
         document_key, attachment_ids)
    SELECT $1, communication_id, recipient, language, subject, body_text, body_html,
           document_key, attachment_ids::uuid[]
    FROM passed
    JOIN rendered USING (communication_id)
    ON CONFLICT (merchant_id, communication_id) DO UPDATE
    SET recipient = excluded.recipient, language = excluded.language, subject = excluded.subject,
        body_text = excluded.body_text, body_html = excluded.body_html,
        document_key = excluded.document_key, attachment_ids = excluded.attachment_ids
), linked AS (
    INSERT INTO debtor_links (merchant_id, token_hash, claim_id, communication_id, created_at)
    SELECT $1, r.link_hash, passed.claim_id, passed.communication_id, $2
    FROM passed
    JOIN rendered r USING (communication_id)
    WHERE r.link_hash IS NOT NULL
    ON CONFLICT DO NOTHING
), coded AS (
    INSERT INTO debtor_codes (merchant_id, code_digest, claim_id, communication_id, created_at)
    SELECT $1, r.code_digest, passed.claim_id, passed.communication_id, $2
    FROM passed
    JOIN rendered r USING (communication_id)
    WHERE r.code_digest IS NOT NULL
    ON CONFLICT DO NOTHING
)
SELECT communication_id FROM passed
