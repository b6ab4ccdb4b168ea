-- Lists over very many rows.

-- A merchant's settled events, in their order, in spans of a thousand or so: the times of those
-- behind one place up to another. Lists by time pass over the spans that hold nothing of theirs.
CREATE TABLE event_spans (
    merchant_id integer NOT NULL REFERENCES merchants,
    upto_written_by xid8 NOT NULL,
    upto_event_id uuid NOT NULL,
    after_written_by xid8 NOT NULL,
    after_event_id uuid NOT NULL,
    earliest_at timestamptz NOT NULL,
    latest_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, upto_written_by, upto_event_id)
);
