-- Which claims the worker still has to make searchable. The statement that creates claims adds one row
-- for its merchant and transaction, whatever the number of claims, and the worker removes it together
-- with the work. The table holds what the last second created. It has no keys and no index, because
-- each would cost intake several times what the row costs: two rows that are alike do no harm, and the
-- claims refer to the merchant already.
CREATE TABLE claim_search_queue (
    merchant_id integer NOT NULL,
    -- As in the claims that the transaction created.
    written_by xid8 NOT NULL
);
-- Logical replication has to find the rows that are removed.
ALTER TABLE claim_search_queue REPLICA IDENTITY FULL;
