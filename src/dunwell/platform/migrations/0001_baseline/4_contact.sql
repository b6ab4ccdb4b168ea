-- Tables of contact: how debtors are reached. Contacts of the workflow, who may be contacted and
-- how often, the ledger, notices outside the workflow, delivery providers, print batches.

-- Contacts of the workflow ------------------------------------------------------------------------

-- The outcome of each step of each run, and the version that defined the step.
CREATE TABLE step_history (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    run integer NOT NULL,
    -- The id in the workflow's definition; 0 is the archiving after the last step.
    step_id integer NOT NULL,
    version_id uuid NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('DONE', 'SKIPPED', 'FAILED')),
    reason text,
    at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, claim_id, run, step_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);

-- One message of a step by one channel.
CREATE TABLE communications (
    merchant_id integer NOT NULL,
    -- The reference in events, and the id that delivery providers get.
    communication_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    run integer NOT NULL,
    step_id integer NOT NULL,
    -- The place in the step's list of channels, from 0; the later ones are fallbacks.
    place smallint NOT NULL,
    channel text NOT NULL CHECK (channel IN ('EMAIL', 'SMS', 'LETTER')),
    -- ATTACHMENT_MISSING: it waits for a required attachment until not_before. HANDED_OVER: it may
    -- have been sent. UNKNOWN: it is not known whether it was sent; a person decides.
    state text NOT NULL DEFAULT 'PLANNED' CHECK (state IN
        ('PLANNED', 'ATTACHMENT_MISSING', 'HANDED_OVER', 'ACCEPTED', 'FAILED', 'CANCELLED',
         'UNKNOWN')),
    -- The merchant's time before which it is not sent.
    not_before timestamptz NOT NULL,
    -- What delays a planned contact: GUARD_DAY, GUARD_WEEK, QUIET_HOURS or CONTACT_HOURS.
    held_by text,
    -- The workflow version whose text was sent; set when it is handed over.
    version_id uuid,
    lease_id uuid,
    -- Real time, after which another worker may take over.
    lease_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    planned_at timestamptz NOT NULL,
    handed_over_at timestamptz,
    settled_at timestamptz,
    failure text,
    -- The contact guards that were raised when it was handed over, and for which day. They are
    -- lowered again if nothing was sent.
    guarded_by bytea[],
    guarded_on date,
    -- What was sent to whom; these outlive the content.
    recipient_digest bytea,
    content_digest bytea,
    -- The delivery provider, its answer, and when it reported the delivery.
    provider text,
    provider_response text,
    delivered_at timestamptz,
    -- The domain of an e-mail, or the country of a number or a postal address. Null: it did not go
    -- through a delivery provider.
    destination text,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, communication_id),
    -- A step contacts nobody twice by the same place of its list.
    UNIQUE (merchant_id, claim_id, run, step_id, place),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
-- Planned contacts in the order in which they are sent: of one merchant, and the merchants that
-- have any.
CREATE INDEX communications_planned ON communications (merchant_id, not_before, planned_at)
    WHERE state IN ('PLANNED', 'ATTACHMENT_MISSING');
CREATE INDEX communications_planned_anywhere ON communications (not_before)
    WHERE state IN ('PLANNED', 'ATTACHMENT_MISSING');
-- Contacts whose lease may have ended: of one merchant, and the merchants that have any.
CREATE INDEX communications_handed_over
    ON communications (merchant_id, lease_until) WHERE state = 'HANDED_OVER';
CREATE INDEX communications_handed_over_anywhere
    ON communications (lease_until) WHERE state = 'HANDED_OVER';
-- Lists: all contacts, those that failed, those whose delivery status is unknown.
CREATE INDEX communications_list ON communications (merchant_id, written_by, communication_id);
CREATE INDEX communications_failed_list
    ON communications (merchant_id, written_by, communication_id) WHERE state = 'FAILED';
CREATE INDEX communications_unknown_list
    ON communications (merchant_id, written_by, communication_id) WHERE state = 'UNKNOWN';
CREATE INDEX communications_unknown
    ON communications (merchant_id, communication_id) WHERE state = 'UNKNOWN';
-- Contacts that failed recently, which the portal's overview counts.
CREATE INDEX communications_failed_settled
    ON communications (merchant_id, settled_at) WHERE state = 'FAILED';
-- The figures of a delivery provider.
CREATE INDEX communications_of_provider ON communications (provider, settled_at) WHERE provider IS NOT NULL;

-- What was sent, with the link's token masked. Personal data, erased as one row.
CREATE TABLE communication_contents (
    merchant_id integer NOT NULL,
    communication_id uuid NOT NULL,
    recipient text NOT NULL,
    language text NOT NULL,
    subject text,
    body_text text NOT NULL,
    body_html text,
    -- Where the file storage keeps a letter's PDF. It is encrypted, because it shows the link and
    -- the code; document_key_version is the key it is encrypted with.
    document_key text,
    document_key_version smallint NOT NULL DEFAULT 1,
    -- The attachments in order: a message that is repeated has the same ones.
    attachment_ids uuid[] NOT NULL DEFAULT '{}',
    -- The key from which the message's token and code are derived.
    key_version smallint NOT NULL DEFAULT 1,
    PRIMARY KEY (merchant_id, communication_id),
    FOREIGN KEY (merchant_id, communication_id) REFERENCES communications ON DELETE CASCADE
);

-- Who may be contacted, and how often -------------------------------------------------------------

-- Whether no day has more than per_day contacts, and no seven days in a row more than per_week.
CREATE FUNCTION is_within_limits(days date[], per_day integer, per_week integer) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(bool_and(
        (SELECT count(*) FROM unnest(days) AS other WHERE other = day) <= per_day
        AND (SELECT count(*) FROM unnest(days) AS other WHERE other > day - 7 AND other <= day)
            <= per_week), true)
    FROM unnest(days) AS day
$$;

-- The days on which a person was contacted, over all claims of a merchant (decision 0005). A person
-- is the digest of an e-mail address, a number or a customer number. There is one row for each
-- person, so that two workers wait for each other at midnight too.
CREATE TABLE contact_guards (
    -- No foreign key: the row changes with every contact, under the claim's lock, and checking the
    -- key each time would cost as much again.
    merchant_id integer NOT NULL,
    identity_digest bytea NOT NULL,
    -- Days in the merchant's time zone, oldest first.
    contacted_on date[] NOT NULL DEFAULT '{}',
    -- The limits that applied when the row was last changed.
    per_day integer NOT NULL CHECK (per_day > 0),
    per_week integer NOT NULL CHECK (per_week > 0),
    PRIMARY KEY (merchant_id, identity_digest),
    -- The days are only counted where they could exceed a limit.
    CONSTRAINT contact_guards_keep_limits CHECK (
        cardinality(contacted_on) <= least(per_day, per_week)
        OR is_within_limits(contacted_on, per_day, per_week))
    -- Room in each page for updated rows.
) WITH (fillfactor = 80);

-- The suppression list: addresses that are no longer contacted.
CREATE TABLE suppressions (
    merchant_id integer NOT NULL REFERENCES merchants,
    channel text NOT NULL CHECK (channel IN ('EMAIL', 'SMS', 'LETTER')),
    address_digest bytea NOT NULL,
    -- For people who look at the list, such as e***@example.com.
    masked_address text NOT NULL,
    reason text NOT NULL
        CHECK (reason IN ('BOUNCE', 'DEBTOR', 'MERCHANT', 'OPERATOR', 'WRONG_PERSON')),
    created_at timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    key_version smallint NOT NULL DEFAULT 1,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, channel, address_digest)
);
CREATE INDEX suppressions_list ON suppressions (merchant_id, written_by, address_digest);

-- The ledger --------------------------------------------------------------------------------------

-- The ledger of contacts: one row for each outcome of a contact that was handed over. Rows are
-- never changed and are kept when the claim is erased (decision 0007).
CREATE TABLE contact_ledger (
    merchant_id integer NOT NULL REFERENCES merchants,
    entry_id uuid NOT NULL,
    communication_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    run integer NOT NULL,
    step_id integer NOT NULL,
    place smallint NOT NULL,
    channel text NOT NULL,
    -- SETTLED_...: a person decided about a contact whose delivery status was unknown.
    outcome text NOT NULL CHECK (outcome IN
        ('ACCEPTED', 'REFUSED', 'UNKNOWN', 'FAILED_LATER', 'SETTLED_SENT', 'SETTLED_NOT_SENT')),
    attempts integer NOT NULL,
    at timestamptz NOT NULL,
    recipient_digest bytea,
    content_digest bytea,
    -- The number of the seal that covers this row, and the row's own keyed digest, so that a
    -- changed row can be named.
    seal bigint,
    digest bytea,
    PRIMARY KEY (merchant_id, entry_id)
);
-- No contact is accepted twice.
CREATE UNIQUE INDEX contact_ledger_once ON contact_ledger
    (merchant_id, claim_id, run, step_id, place) WHERE outcome IN ('ACCEPTED', 'SETTLED_SENT');
-- The rows of one seal, for verifying it, and the rows that the next seal will cover.
CREATE INDEX contact_ledger_seal ON contact_ledger (merchant_id, seal) WHERE seal IS NOT NULL;
CREATE INDEX contact_ledger_unsealed ON contact_ledger (merchant_id, entry_id) WHERE seal IS NULL;

-- A merchant's chain of seals over the ledger and the audit log: the digest of each seal covers its
-- rows and the digest of the seal before it.
CREATE TABLE ledger_seals (
    merchant_id integer NOT NULL REFERENCES merchants,
    seal bigint NOT NULL,
    -- How many rows of the ledger and of the audit log the seal covers.
    contacts integer NOT NULL,
    audits integer NOT NULL,
    digest bytea NOT NULL,
    -- Real time.
    sealed_at timestamptz NOT NULL,
    key_version smallint NOT NULL DEFAULT 1,
    PRIMARY KEY (merchant_id, seal)
);

-- Notices -----------------------------------------------------------------------------------------

-- What a debtor is told once, by a message outside the workflow: that a dispute was received or
-- answered, a payment, a payment plan. The row is written together with what it is about, and its
-- key keeps the debtor from being told twice.
CREATE TABLE debtor_occasions (
    merchant_id integer NOT NULL,
    claim_id bigint NOT NULL,
    -- The name of its templates.
    occasion text NOT NULL,
    -- The id of the dispute, payment or plan it is about.
    subject text NOT NULL,
    -- What the message says. Emptied some time after it is finished.
    facts jsonb,
    -- Real time, as the instants below: when a worker looks at it next. Null when it is finished.
    due_at timestamptz,
    -- The latest notice about it.
    notice_id uuid,
    ended_at timestamptz,
    PRIMARY KEY (merchant_id, claim_id, occasion, subject),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((due_at IS NULL) = (ended_at IS NOT NULL)),
    CHECK (facts IS NOT NULL OR ended_at IS NOT NULL)
);
CREATE INDEX debtor_occasions_due ON debtor_occasions (due_at) WHERE due_at IS NOT NULL;
-- The occasion of a notice that was reported as not delivered.
CREATE INDEX debtor_occasions_notice ON debtor_occasions (merchant_id, notice_id)
    WHERE notice_id IS NOT NULL;
-- Finished occasions whose facts have to be emptied.
CREATE INDEX debtor_occasions_ended ON debtor_occasions (ended_at)
    WHERE ended_at IS NOT NULL AND facts IS NOT NULL;

-- Messages outside the workflow: codes, links, receipts, confirmations, answers, reminders.
-- Instants are real time, except dated_at.
CREATE TABLE debtor_notices (
    merchant_id integer NOT NULL,
    -- The id that delivery providers get. The token of its link and its code are derived from it.
    notice_id uuid NOT NULL,
    claim_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN
        ('CODE', 'LINK', 'RECEIPT', 'CONFIRMATION', 'CHANGE_CODE', 'CHANGE_NOTICE', 'ANSWER',
         'REMINDER', 'OVERDUE')),
    channel text NOT NULL CHECK (channel IN ('EMAIL', 'SMS', 'LETTER')),
    -- Recipient and content, with token and code masked. Emptied some days after it is settled.
    recipient text,
    -- Set for notices that anybody may ask for, so that one address gets few of them.
    recipient_digest bytea,
    language text NOT NULL,
    subject text,
    body_text text,
    body_html text,
    -- What a letter prints: the texts of the single layout.
    sheet jsonb,
    state text NOT NULL DEFAULT 'PLANNED'
        CHECK (state IN ('PLANNED', 'HANDED_OVER', 'ACCEPTED', 'FAILED', 'UNKNOWN')),
    -- When it is sent, or, after the hand-over, when its lease ends. Null when it is settled.
    due_at timestamptz,
    lease_id uuid,
    attempts integer NOT NULL DEFAULT 0,
    -- The merchant's time: the date that the message shows.
    dated_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    -- It is not sent after this.
    expires_at timestamptz NOT NULL,
    settled_at timestamptz,
    failure text,
    -- The delivery provider. Null: it has not been sent, or did not go through a provider.
    provider text,
    key_version smallint NOT NULL DEFAULT 1,
    PRIMARY KEY (merchant_id, notice_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((settled_at IS NULL) = (state IN ('PLANNED', 'HANDED_OVER'))),
    CHECK ((due_at IS NULL) = (settled_at IS NOT NULL)),
    CHECK (settled_at IS NOT NULL OR recipient IS NOT NULL AND body_text IS NOT NULL)
);
CREATE INDEX debtor_notices_due ON debtor_notices (due_at) WHERE due_at IS NOT NULL;
-- A claim's newest notices of a kind, which are limited by the hour.
CREATE INDEX debtor_notices_claim ON debtor_notices (merchant_id, claim_id, kind, created_at);
-- What was asked for at one address, over all merchants.
CREATE INDEX debtor_notices_recipient ON debtor_notices (recipient_digest, created_at)
    WHERE recipient_digest IS NOT NULL;
-- Settled notices that have to be emptied.
CREATE INDEX debtor_notices_settled ON debtor_notices (settled_at)
    WHERE settled_at IS NOT NULL AND recipient IS NOT NULL;
-- Which claims an incoming SMS may answer.
CREATE INDEX debtor_notices_by_sms ON debtor_notices (recipient, provider)
    WHERE channel = 'SMS' AND provider IS NOT NULL AND recipient IS NOT NULL;

-- The links that debtors were sent, stored as hashes only.
CREATE TABLE debtor_links (
    merchant_id integer NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    claim_id bigint NOT NULL,
    -- The contact or the notice that contained the link.
    communication_id uuid,
    notice_id uuid,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, token_hash),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, notice_id) REFERENCES debtor_notices ON DELETE CASCADE
);
CREATE INDEX debtor_links_notice ON debtor_links (merchant_id, notice_id)
    WHERE notice_id IS NOT NULL;

-- The codes that are printed on letters, stored as keyed digests only: twelve characters could be
-- guessed from a plain hash.
CREATE TABLE letter_codes (
    merchant_id integer NOT NULL,
    code_digest bytea NOT NULL UNIQUE,
    claim_id bigint NOT NULL,
    -- Null for the letter of a notice.
    communication_id uuid,
    created_at timestamptz NOT NULL,
    key_version smallint NOT NULL DEFAULT 1,
    PRIMARY KEY (merchant_id, code_digest),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);

-- The codes by which a debtor checks that an e-mail or SMS is genuine. A code has forty bits, so
-- two messages may have the same one.
CREATE TABLE check_codes (
    merchant_id integer NOT NULL,
    -- The id of the contact or notice.
    message_id uuid NOT NULL,
    code_digest bytea NOT NULL,
    claim_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    -- The key that code and digest are made with.
    key_version smallint NOT NULL,
    PRIMARY KEY (merchant_id, message_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
-- Over all merchants, because a code that was typed in names none.
CREATE INDEX check_codes_digest ON check_codes (code_digest);
-- For erasing a claim.
CREATE INDEX check_codes_claim ON check_codes (merchant_id, claim_id);

-- Delivery providers ------------------------------------------------------------------------------
-- In this section "provider" is the name of a delivery provider in the installation file. Real time.

-- When a delivery provider may send again, over all workers: its rate limit.
CREATE TABLE provider_rate_limits (
    provider text PRIMARY KEY,
    available_at timestamptz NOT NULL
);

-- Delivery reports, each once.
CREATE TABLE delivery_reports (
    report_id uuid PRIMARY KEY,
    provider text NOT NULL,
    -- The provider's id of the message.
    provider_message_id text NOT NULL,
    state text NOT NULL CHECK (state IN ('DELIVERED', 'FAILED', 'RETURNED', 'DELAYED')),
    happened_at timestamptz,
    -- The contact or notice. Null: the report matches none of our messages.
    merchant_id integer,
    communication_id uuid,
    reason text NOT NULL,
    cause text NOT NULL CHECK (cause IN ('ADDRESS', 'ABOUT_US', 'OTHER')),
    destination text,
    -- The report as it arrived.
    raw bytea NOT NULL,
    received_at timestamptz NOT NULL,
    -- When it is processed next. Null when it was matched or matches nothing.
    due_at timestamptz,
    outcome text CHECK (outcome IN
        ('DELIVERED', 'FAILED', 'SETTLED', 'WAITING', 'IGNORED', 'UNMATCHED')),
    handled_at timestamptz,
    -- Who marked an unmatched report as read, and when.
    read_at timestamptz,
    read_by text,
    -- Whether only the provider or our own mail server can have written it.
    is_authenticated boolean NOT NULL DEFAULT true,
    CONSTRAINT delivery_reports_once
        UNIQUE NULLS NOT DISTINCT (provider, provider_message_id, state, happened_at),
    CHECK ((merchant_id IS NULL) = (communication_id IS NULL))
);
CREATE INDEX delivery_reports_due ON delivery_reports (due_at) WHERE due_at IS NOT NULL;
-- The figures of a delivery provider, and the reports of a message.
CREATE INDEX delivery_reports_of_provider ON delivery_reports (provider, received_at);
CREATE INDEX delivery_reports_of_message ON delivery_reports (merchant_id, communication_id)
    WHERE communication_id IS NOT NULL;
-- For deleting old reports.
CREATE INDEX delivery_reports_received ON delivery_reports (received_at);
-- Unmatched reports: all, and the unread ones. Ids are in the order of time.
CREATE INDEX delivery_reports_unmatched ON delivery_reports (received_at)
    WHERE outcome = 'UNMATCHED';
CREATE INDEX delivery_reports_unread ON delivery_reports (report_id)
    WHERE outcome = 'UNMATCHED' AND read_at IS NULL;

-- SMS that people sent to a delivery provider's number, each once.
CREATE TABLE inbound_sms (
    inbound_id uuid PRIMARY KEY,
    provider text NOT NULL,
    provider_message_id text NOT NULL,
    sender text NOT NULL,
    recipient text NOT NULL,
    text text NOT NULL,
    received_at timestamptz NOT NULL,
    -- STOP: the number was suppressed. REPLY: it certainly belongs to one claim. UNMATCHED: a
    -- person has to read it.
    kind text NOT NULL CHECK (kind IN ('STOP', 'REPLY', 'UNMATCHED')),
    merchant_id integer,
    claim_id bigint,
    -- Who marked an unmatched SMS as read, and when.
    read_at timestamptz,
    read_by text,
    CONSTRAINT inbound_sms_once UNIQUE (provider, provider_message_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    CHECK ((kind = 'REPLY') = (claim_id IS NOT NULL)),
    CHECK ((merchant_id IS NULL) = (claim_id IS NULL))
);
CREATE INDEX inbound_sms_claim ON inbound_sms (merchant_id, claim_id) WHERE claim_id IS NOT NULL;
-- For deleting old messages.
CREATE INDEX inbound_sms_received ON inbound_sms (received_at);
-- Unmatched messages: all, and the unread ones. Ids are in the order of time.
CREATE INDEX inbound_sms_unmatched ON inbound_sms (received_at) WHERE kind = 'UNMATCHED';
CREATE INDEX inbound_sms_unread ON inbound_sms (inbound_id)
    WHERE kind = 'UNMATCHED' AND read_at IS NULL;

-- Print batches -----------------------------------------------------------------------------------
-- How letters reach a print service: files, and a manifest that releases them. Real time.

-- The letters that one manifest releases.
CREATE TABLE letter_batches (
    batch_id uuid PRIMARY KEY,
    provider text NOT NULL,
    -- DECIDED: the letters are chosen, the manifest is not yet uploaded, the batch may be
    -- dissolved. WRITTEN: the manifest is uploaded under a temporary name and can only be finished.
    -- RELEASED: it has its final name.
    state text NOT NULL DEFAULT 'DECIDED' CHECK (state IN ('DECIDED', 'WRITTEN', 'RELEASED')),
    letters integer NOT NULL CHECK (letters > 0),
    pages integer NOT NULL,
    manifest bytea NOT NULL,
    created_at timestamptz NOT NULL,
    released_at timestamptz,
    -- The lease of the worker that uploads the manifest.
    lease_id uuid,
    lease_until timestamptz,
    -- After a restore: when this database learned of the batch from the copy of its manifest that
    -- is stored next to the letters.
    found_at timestamptz,
    CHECK ((state = 'RELEASED') = (released_at IS NOT NULL))
);
CREATE INDEX letter_batches_of_provider ON letter_batches (provider, batch_id);
CREATE INDEX letter_batches_open ON letter_batches (lease_until) WHERE state <> 'RELEASED';

-- Each letter once: it is named in one manifest at most, whatever the delivery provider.
CREATE TABLE letter_batch_items (
    merchant_id integer NOT NULL REFERENCES merchants,
    -- The contact or notice.
    communication_id uuid NOT NULL,
    provider text NOT NULL,
    reference text NOT NULL,
    -- UPLOADING: some of its files may be uploaded. WAITING: all are, it waits for the next batch.
    -- BATCHED: a manifest names it. RELEASED: a manifest named it that this database does not know
    -- after a restore, as a person or the print service confirmed. TAKING_BACK: nothing is owed any
    -- more, its files have to be deleted. TAKEN_BACK: they are deleted.
    state text NOT NULL DEFAULT 'UPLOADING' CHECK (state IN
        ('UPLOADING', 'WAITING', 'BATCHED', 'RELEASED', 'TAKING_BACK', 'TAKEN_BACK')),
    batch_id uuid REFERENCES letter_batches,
    -- The destination, ISO 3166-1 alpha-2, if it is known.
    country text,
    pages integer NOT NULL,
    -- [{"name", "sha256", "pages"}], the letter first.
    files jsonb NOT NULL,
    started_at timestamptz NOT NULL,
    handed_at timestamptz,
    -- The latest status of the print service: ACCEPTED, PRINTED, POSTED, RETURNED or FAILED.
    status text,
    status_at timestamptz,
    cleared_at timestamptz,
    -- Set after a restore for a waiting letter that an unknown manifest may name. MISSING: its files
    -- are no longer there.
    doubt text,
    PRIMARY KEY (merchant_id, communication_id),
    CHECK ((state = 'BATCHED') = (batch_id IS NOT NULL)),
    CONSTRAINT letter_batch_items_doubt
        CHECK (doubt IS NULL OR doubt IN ('UNCONFIRMED', 'MISSING') AND state = 'WAITING')
);
CREATE INDEX letter_batch_items_waiting ON letter_batch_items (provider, handed_at)
    WHERE state = 'WAITING';
CREATE INDEX letter_batch_items_open ON letter_batch_items (provider, started_at)
    WHERE state IN ('UPLOADING', 'TAKING_BACK');
CREATE INDEX letter_batch_items_of_batch ON letter_batch_items (batch_id, communication_id)
    WHERE batch_id IS NOT NULL;
CREATE INDEX letter_batch_items_failed ON letter_batch_items (batch_id)
    WHERE status IN ('RETURNED', 'FAILED') AND batch_id IS NOT NULL;
CREATE INDEX letter_batch_items_doubted
    ON letter_batch_items (provider, merchant_id, communication_id) WHERE doubt IS NOT NULL;

-- After a restore: the letters of a batch that was found, also those that this database never had.
CREATE TABLE recovered_letters (
    merchant_id integer NOT NULL REFERENCES merchants,
    communication_id uuid NOT NULL,
    batch_id uuid NOT NULL REFERENCES letter_batches,
    PRIMARY KEY (merchant_id, communication_id)
);

-- Status files of print services, each read once. The same name with other content is another file.
CREATE TABLE letter_status_files (
    provider text NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL,
    read_at timestamptz NOT NULL,
    -- READ: all its rows became delivery reports. REFUSED: none did.
    outcome text NOT NULL CHECK (outcome IN ('READ', 'REFUSED')),
    reports integer NOT NULL,
    -- Why it was refused, without its contents.
    reason text,
    PRIMARY KEY (provider, name, sha256)
);
-- For deleting old rows.
CREATE INDEX letter_status_files_read ON letter_status_files (read_at);

-- The lease of the worker that reads a print service's status files.
CREATE TABLE letter_status_readers (
    provider text PRIMARY KEY,
    lease_id uuid NOT NULL,
    lease_until timestamptz NOT NULL
);
