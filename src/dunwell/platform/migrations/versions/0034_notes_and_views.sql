-- What staff write down on a claim. A note is never changed: another one is written.
CREATE TABLE claim_notes (
    merchant_id integer NOT NULL,
    note_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    -- The merchant's time.
    written_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    text text NOT NULL CHECK (length(text) BETWEEN 1 AND 4000),
    PRIMARY KEY (merchant_id, note_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
CREATE INDEX claim_notes_claim ON claim_notes (merchant_id, claim_id, written_at);

-- A list's filters under a name: somebody's own, or everybody's at the merchant.
CREATE TABLE views (
    merchant_id integer NOT NULL REFERENCES merchants,
    view_id uuid NOT NULL,
    -- Whose it is; a shared one too, as its maker alone takes it away.
    user_id uuid NOT NULL REFERENCES users,
    is_shared boolean NOT NULL,
    list text NOT NULL CHECK (list IN ('CLAIMS')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
    -- As it stands in the list's address.
    query text NOT NULL CHECK (length(query) <= 2000),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, view_id),
    UNIQUE (merchant_id, user_id, list, name)
);
CREATE INDEX views_shared ON views (merchant_id, list) WHERE is_shared;
