-- What somebody may do only so often: wrong client secrets and wrong letter codes of a visitor,
-- openings of a link. Of no merchant; whoever or whatever it is about is a keyed digest. Counted under
-- the subject's lock, in real time, and swept when it counts no more.
CREATE TABLE attempts (
    subject_digest bytea PRIMARY KEY,
    count integer NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL
);
CREATE INDEX attempts_last ON attempts (last_at);

-- Wrong facts and sent codes of a claim in a day, which lock it until a new link is asked for.
ALTER TABLE debtor_fact_tries
    ADD COLUMN day_failures integer NOT NULL DEFAULT 0,
    ADD COLUMN day_first_at timestamptz;
