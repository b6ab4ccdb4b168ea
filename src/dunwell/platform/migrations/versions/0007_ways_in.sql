-- The ways in: everybody's wrong codes counted in one place, links asked for and not looked at yet.

-- Of all visitors, by the minute, in real time; of no merchant, as a wrong code names none. Who
-- counts one more takes turns with all others who do.
CREATE TABLE wrong_codes (
    minute timestamptz PRIMARY KEY,
    count integer NOT NULL
);

-- Who asks for a new link is answered before anybody looks whether it fits, so that the answer tells
-- nothing, not even by the time it takes. Removed as soon as it is looked at; of no merchant, as
-- that is what is looked for.
CREATE TABLE asked_links (
    asked_link_id uuid PRIMARY KEY,
    -- As somebody typed them.
    reference text NOT NULL,
    contact text NOT NULL,
    -- Real time.
    asked_at timestamptz NOT NULL
);
CREATE INDEX asked_links_asked ON asked_links (asked_at);
