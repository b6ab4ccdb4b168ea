-- How much of the file storage a merchant's uploads take. It is written in the transaction that
-- writes or removes the uploads themselves, so it is their sum at any moment. A merchant's row is made,
-- and its earlier uploads are counted, with its first upload after this migration.
CREATE TABLE storage_use (
    merchant_id integer PRIMARY KEY REFERENCES merchants,
    used_bytes bigint NOT NULL CHECK (used_bytes >= 0)
);
