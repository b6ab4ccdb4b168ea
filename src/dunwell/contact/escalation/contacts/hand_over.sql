-- Mark contacts as handed over, with their content, and update the guards of their debtors. Claims,
-- contacts and existing guards are already locked. Return the number of inserted guards; a guard
-- that another transaction inserted at the same moment is not counted. $1 merchant, $2 its time, $3
-- its date, $4 end of the lease; $5-$18 contacts; $19-$23 guards; $24 the version of the secret key
-- for tokens, codes, digests and printed letters; $25 digests of the check codes of the contacts.
WITH passed AS (
    SELECT *
    FROM unnest($5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::text[], $10::text[],
                $11::text[], $12::bytea[], $13::bytea[], $14::text[], $15::text[], $16::bytea[],
                $17::bytea[], $18::text[], $25::bytea[])
        AS r (communication_id, version_id, recipient, language, subject, body_text, body_html,
              link_hash, code_digest, document_key, attachment_ids, recipient_digest,
              content_digest, guarded_by, check_digest)
), guards AS MATERIALIZED (
    SELECT identity_digest, contacted_on::date[] AS contacted_on, per_day, per_week, is_new
    FROM unnest($19::bytea[], $20::text[], $21::integer[], $22::integer[], $23::boolean[])
        AS g (identity_digest, contacted_on, per_day, per_week, is_new)
), marked AS (
    UPDATE communications m
    SET state = 'HANDED_OVER', handed_over_at = $2, version_id = r.version_id, lease_until = $4,
        attempts = attempts + 1, recipient_digest = r.recipient_digest,
        content_digest = r.content_digest, held_by = NULL, failure = NULL,
        guarded_by = r.guarded_by::bytea[], guarded_on = $3
    FROM passed r
    WHERE m.merchant_id = $1 AND m.communication_id = r.communication_id
    RETURNING m.communication_id, m.claim_id
), contents AS (
    INSERT INTO communication_contents
        (merchant_id, communication_id, recipient, language, subject, body_text, body_html,
         document_key, attachment_ids, key_version, document_key_version)
    SELECT $1, communication_id, recipient, language, subject, body_text, body_html,
           document_key, attachment_ids::uuid[], $24, $24
    FROM passed
    ON CONFLICT (merchant_id, communication_id) DO UPDATE
    SET recipient = excluded.recipient, language = excluded.language, subject = excluded.subject,
        body_text = excluded.body_text, body_html = excluded.body_html,
        document_key = excluded.document_key, attachment_ids = excluded.attachment_ids,
        key_version = excluded.key_version,
        document_key_version = excluded.document_key_version
), links AS (
    INSERT INTO debtor_links (merchant_id, token_hash, claim_id, communication_id, created_at)
    SELECT $1, link_hash, claim_id, communication_id, $2
    FROM marked
    JOIN passed USING (communication_id)
    WHERE link_hash IS NOT NULL
    ON CONFLICT DO NOTHING
), codes AS (
    INSERT INTO letter_codes
        (merchant_id, code_digest, claim_id, communication_id, created_at, key_version)
    SELECT $1, code_digest, claim_id, communication_id, $2, $24
    FROM marked
    JOIN passed USING (communication_id)
    WHERE code_digest IS NOT NULL
    ON CONFLICT DO NOTHING
), message_check_codes AS (
    INSERT INTO check_codes
        (merchant_id, message_id, code_digest, claim_id, created_at, key_version)
    SELECT $1, communication_id, check_digest, claim_id, $2, $24
    FROM marked
    JOIN passed USING (communication_id)
    WHERE check_digest IS NOT NULL
    ON CONFLICT (merchant_id, message_id) DO UPDATE
    SET code_digest = excluded.code_digest, key_version = excluded.key_version
), updated_guards AS (
    UPDATE contact_guards g
    SET contacted_on = r.contacted_on, per_day = r.per_day, per_week = r.per_week
    FROM guards r
    WHERE NOT r.is_new AND g.merchant_id = $1 AND g.identity_digest = r.identity_digest
), inserted_guards AS (
    INSERT INTO contact_guards (merchant_id, identity_digest, contacted_on, per_day, per_week)
    SELECT $1, identity_digest, contacted_on, per_day, per_week
    FROM guards
    WHERE is_new
    ON CONFLICT (merchant_id, identity_digest) DO NOTHING
    RETURNING identity_digest
)
SELECT count(*) FROM inserted_guards
