-- What belongs to the installation and to no merchant (CONTRACT 15): each file that was applied.
-- Never changed; the newest one counts.
CREATE TABLE installation_revisions (
    revision integer PRIMARY KEY CHECK (revision > 0),
    document jsonb NOT NULL,
    applied_at timestamptz NOT NULL,
    applied_by text NOT NULL
);

-- Addresses of private networks that forwarded requests without being trusted: likely proxies that
-- the operator forgot. No visitor's address stands here.
CREATE TABLE seen_forwarders (
    address text PRIMARY KEY,
    seen_at timestamptz NOT NULL
);
