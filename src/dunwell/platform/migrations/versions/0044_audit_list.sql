ALTER TABLE disputes VALIDATE CONSTRAINT disputes_assignee;
ALTER TABLE payment_modalities VALIDATE CONSTRAINT payment_modalities_assignee;
DROP INDEX CONCURRENTLY IF EXISTS audit_log_list;
CREATE INDEX CONCURRENTLY audit_log_list ON audit_log (merchant_id, written_by, audit_id);
DROP INDEX CONCURRENTLY IF EXISTS audit_log_list_of_subject;
CREATE INDEX CONCURRENTLY audit_log_list_of_subject
    ON audit_log (merchant_id, subject, written_by, audit_id) WHERE action <> 'claims.create';
DROP INDEX CONCURRENTLY IF EXISTS audit_log_list_of_action;
CREATE INDEX CONCURRENTLY audit_log_list_of_action
    ON audit_log (merchant_id, action, written_by, audit_id) WHERE action <> 'claims.create';
DROP INDEX CONCURRENTLY IF EXISTS audit_log_list_of_person;
CREATE INDEX CONCURRENTLY audit_log_list_of_person
    ON audit_log (merchant_id, actor_id, written_by, audit_id)
    WHERE actor_kind IN ('USER', 'OPERATOR');
-- Of the same rows in another order.
DROP INDEX CONCURRENTLY IF EXISTS audit_log_subject;
DROP INDEX CONCURRENTLY IF EXISTS audit_log_action;
DROP INDEX CONCURRENTLY IF EXISTS audit_log_people;
