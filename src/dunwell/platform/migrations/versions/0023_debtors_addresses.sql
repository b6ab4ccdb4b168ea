DROP INDEX CONCURRENTLY IF EXISTS debtors_email;
CREATE INDEX CONCURRENTLY debtors_email ON debtors (merchant_id, lower(email))
    WHERE email IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS debtors_mobile_number;
CREATE INDEX CONCURRENTLY debtors_mobile_number ON debtors (merchant_id, mobile_number)
    WHERE mobile_number IS NOT NULL;
