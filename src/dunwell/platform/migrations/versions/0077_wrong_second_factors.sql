-- A wrong code of an app or a wrong recovery code that followed a right password. Rows are counted
-- over 24 hours; they are removed by a new password, by a reset and by the sweep.
CREATE TABLE wrong_second_factors (
    failure_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    failed_at timestamptz NOT NULL,
    -- Set when it came from a browser in which the user has signed in before: the hash of the
    -- secret in that browser's cookie.
    device_hash bytea
);
CREATE INDEX wrong_second_factors_user ON wrong_second_factors (user_id, failed_at);
CREATE INDEX wrong_second_factors_age ON wrong_second_factors (failed_at);

-- Since when the user's codes are accepted only in a known browser, after ten wrong ones. A new
-- password or a reset clears it.
ALTER TABLE users ADD COLUMN second_factor_locked_at timestamptz;

-- E-mails to users about their account are kept beside those that tell operators of alarms.
ALTER TABLE alarm_mails ADD COLUMN language text NOT NULL DEFAULT 'en'
    CHECK (language IN ('en', 'de'));
