DROP INDEX CONCURRENTLY IF EXISTS deliveries_given_up;
CREATE INDEX CONCURRENTLY deliveries_given_up ON deliveries (merchant_id, endpoint_id, event_id)
    WHERE state = 'GIVEN_UP';
