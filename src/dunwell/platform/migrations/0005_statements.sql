-- Bank statements: accounts, imported files, entries, and what the entries belong to.

-- The bank accounts of a merchant to which debtors transfer.
CREATE TABLE bank_accounts (
    merchant_id integer NOT NULL REFERENCES merchants,
    -- The name by which commands and pages refer to the account.
    account text NOT NULL CHECK (length(account) BETWEEN 1 AND 60),
    -- Without spaces, in upper case.
    iban text NOT NULL,
    -- The account holder, exactly as the bank has it.
    holder text NOT NULL,
    -- How the account's CSV files are written. Null: none was saved.
    csv_mapping jsonb,
    -- Claims are not dunned while the newest statement is older than this. Null: no limit.
    max_age_banking_days integer CHECK (max_age_banking_days BETWEEN 1 AND 30),
    -- An amount that differs by at most this is treated as the amount that is owed.
    tolerance_cents bigint NOT NULL DEFAULT 0 CHECK (tolerance_cents BETWEEN 0 AND 10000),
    -- The day up to which the bank has reported. Null: no statement was imported yet.
    reported_until date,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, account)
);
CREATE UNIQUE INDEX bank_accounts_iban ON bank_accounts (merchant_id, iban);

-- Files that were given to be imported.
CREATE TABLE bank_files (
    merchant_id integer NOT NULL,
    file_id uuid NOT NULL,
    account text NOT NULL,
    name text NOT NULL,
    size_bytes bigint NOT NULL,
    content_hash bytea NOT NULL,
    -- Null as soon as the import is over: the entries are stored then.
    content_sealed bytea,
    state text NOT NULL DEFAULT 'WAITING'
        CHECK (state IN ('WAITING', 'RUNNING', 'DONE', 'CANCELLED', 'REFUSED')),
    -- Entries in the file, those that were read so far, those among them that were new, and those
    -- that were matched at once.
    entry_count integer NOT NULL DEFAULT 0,
    read_count integer NOT NULL DEFAULT 0,
    new_count integer NOT NULL DEFAULT 0,
    matched_count integer NOT NULL DEFAULT 0,
    -- Sentences about what is wrong with the file.
    problems jsonb NOT NULL DEFAULT '[]',
    actor_kind text NOT NULL,
    actor_id text,
    created_at timestamptz NOT NULL,
    cancelled_at timestamptz,
    finished_at timestamptz,
    -- Real time: when a worker takes the file next, or until when one has it.
    due_at timestamptz,
    lease_id uuid,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, file_id),
    FOREIGN KEY (merchant_id, account) REFERENCES bank_accounts
);
CREATE INDEX bank_files_due ON bank_files (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX bank_files_list ON bank_files (merchant_id, written_by, file_id);

-- Each statement once, however often it is imported.
CREATE TABLE bank_statements (
    merchant_id integer NOT NULL,
    account text NOT NULL,
    -- Identifies the statement by its content, because banks use its id again every year.
    statement_hash bytea NOT NULL,
    file_id uuid NOT NULL,
    statement_id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('STATEMENT', 'DETAILS', 'REPORT')),
    period_from date,
    period_to date,
    created_on date,
    opening_cents bigint,
    closing_cents bigint,
    currency text,
    entry_count integer NOT NULL,
    problems jsonb NOT NULL DEFAULT '[]',
    -- Why the statement is not booked until a person has released it. Null: its sums are right.
    held_reason text,
    released_at timestamptz,
    imported_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, account, statement_hash),
    FOREIGN KEY (merchant_id, account) REFERENCES bank_accounts,
    FOREIGN KEY (merchant_id, file_id) REFERENCES bank_files
);
CREATE INDEX bank_statements_list ON bank_statements (merchant_id, account, imported_at);
CREATE INDEX bank_statements_file ON bank_statements (merchant_id, file_id);

-- The lines of statements. A line that is not booked yet has no key, and is replaced by the next
-- statement.
CREATE TABLE bank_entries (
    merchant_id integer NOT NULL,
    account text NOT NULL,
    entry_id uuid NOT NULL,
    -- By which the line is recognised in other files. Null: it does not count.
    entry_key text,
    statement_hash bytea NOT NULL,
    status text NOT NULL CHECK (status IN ('BOOK', 'PDNG', 'INFO')),
    position integer NOT NULL,
    -- Positive for money that arrived.
    amount_cents bigint NOT NULL,
    currency text NOT NULL,
    booked_on date,
    value_on date,
    bank_reference text,
    charges_cents bigint NOT NULL DEFAULT 0,
    is_reversal boolean NOT NULL DEFAULT false,
    transaction_code text,
    payment_information_id text,
    additional_text text,
    PRIMARY KEY (merchant_id, entry_id),
    FOREIGN KEY (merchant_id, account, statement_hash) REFERENCES bank_statements,
    CHECK ((status = 'BOOK') = (entry_key IS NOT NULL))
);
CREATE UNIQUE INDEX bank_entries_key ON bank_entries (merchant_id, account, entry_key)
    WHERE entry_key IS NOT NULL;
CREATE INDEX bank_entries_statement ON bank_entries (merchant_id, account, statement_hash, position);
-- The entry that a notification (camt.054) completes.
CREATE INDEX bank_entries_reference ON bank_entries (merchant_id, account, bank_reference)
    WHERE bank_reference IS NOT NULL;
-- Lines that are replaced by the next statement.
CREATE INDEX bank_entries_pending ON bank_entries (merchant_id, account)
    WHERE entry_key IS NULL;

-- The payments that a booked line consists of: most have one, a collective credit has many.
CREATE TABLE bank_transactions (
    merchant_id integer NOT NULL,
    entry_id uuid NOT NULL,
    -- From 1, in the bank's order.
    number integer NOT NULL,
    account text NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents <> 0),
    currency text NOT NULL,
    booked_on date NOT NULL,
    -- NEW: not matched yet. OPEN: it needs a person. The others say what it belongs to.
    state text NOT NULL CHECK (state IN
        ('NEW', 'HELD', 'OPEN', 'MATCHED', 'PAYOUT', 'RETURNED', 'WITHOUT_CLAIM')),
    -- The part that matches account for.
    matched_cents bigint NOT NULL DEFAULT 0,
    -- Whether a person has decided about it: nothing automatic changes that.
    is_decided boolean NOT NULL DEFAULT false,
    end_to_end_id text,
    mandate_id text,
    references_text text NOT NULL DEFAULT '',
    remittance_text text NOT NULL DEFAULT '',
    counterparty_name text,
    -- Shortened; the digest finds the account again.
    counterparty_iban_shown text,
    counterparty_digest bytea,
    return_reason text,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, entry_id, number),
    FOREIGN KEY (merchant_id, entry_id) REFERENCES bank_entries ON DELETE CASCADE,
    CHECK (matched_cents BETWEEN 0 AND abs(amount_cents))
);
CREATE INDEX bank_transactions_new ON bank_transactions (merchant_id, account, entry_id, number)
    WHERE state = 'NEW';
CREATE INDEX bank_transactions_open ON bank_transactions (merchant_id, account, booked_on, entry_id)
    WHERE state = 'OPEN';
CREATE INDEX bank_transactions_held ON bank_transactions (merchant_id, entry_id)
    WHERE state = 'HELD';
-- The payment that a return takes back.
CREATE INDEX bank_transactions_end_to_end ON bank_transactions (merchant_id, end_to_end_id)
    WHERE end_to_end_id IS NOT NULL;
CREATE INDEX bank_transactions_payer ON bank_transactions (merchant_id, counterparty_digest)
    WHERE counterparty_digest IS NOT NULL AND state = 'OPEN';

-- What transactions belong to. Rows are only added: undoing a match is another row.
CREATE TABLE bank_matches (
    merchant_id integer NOT NULL,
    match_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('MATCHED', 'UNDONE')),
    entry_id uuid NOT NULL,
    number integer NOT NULL,
    -- The match that an UNDONE row takes back.
    undoes uuid,
    -- One of these, or neither for money that belongs to no claim.
    claim_id bigint,
    payment_id uuid,
    payout_provider text,
    payout_id text,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    rule text NOT NULL,
    explanation text NOT NULL,
    actor_kind text NOT NULL,
    actor_id text,
    matched_at timestamptz NOT NULL,
    written_by xid8 NOT NULL DEFAULT current_written_by(),
    PRIMARY KEY (merchant_id, match_id),
    FOREIGN KEY (merchant_id, entry_id, number) REFERENCES bank_transactions ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, undoes) REFERENCES bank_matches ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE,
    FOREIGN KEY (merchant_id, payment_id) REFERENCES payments,
    CHECK ((kind = 'UNDONE') = (undoes IS NOT NULL)),
    CHECK ((claim_id IS NULL) = (payment_id IS NULL)),
    CHECK ((payout_provider IS NULL) = (payout_id IS NULL)),
    CHECK (claim_id IS NULL OR payout_id IS NULL)
);
-- A match is undone once.
CREATE UNIQUE INDEX bank_matches_undone ON bank_matches (merchant_id, undoes)
    WHERE undoes IS NOT NULL;
CREATE INDEX bank_matches_transaction ON bank_matches (merchant_id, entry_id, number);
CREATE INDEX bank_matches_claim ON bank_matches (merchant_id, claim_id) WHERE claim_id IS NOT NULL;
CREATE FUNCTION refuse_change_of_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'match % is never changed; undo it', OLD.match_id;
END $$;
CREATE TRIGGER bank_matches_immutable BEFORE UPDATE ON bank_matches
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_match();

-- Accounts from which claims were paid, for suggestions.
CREATE TABLE payer_accounts (
    merchant_id integer NOT NULL,
    payer_digest bytea NOT NULL,
    claim_id bigint NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, payer_digest, claim_id),
    FOREIGN KEY (merchant_id, claim_id) REFERENCES claims ON DELETE CASCADE
);
CREATE INDEX payer_accounts_claim ON payer_accounts (merchant_id, claim_id);

-- Sums that payment providers paid to the merchant's account, net of their fees.
CREATE TABLE payouts (
    merchant_id integer NOT NULL REFERENCES merchants,
    -- The name of the provider's account.
    provider text NOT NULL,
    payout_id text NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    fees_cents bigint NOT NULL,
    currency text NOT NULL,
    paid_at timestamptz NOT NULL,
    movement_ids jsonb NOT NULL DEFAULT '[]',
    -- When it was found on a statement.
    arrived_at timestamptz,
    PRIMARY KEY (merchant_id, provider, payout_id)
);
CREATE INDEX payouts_awaited ON payouts (merchant_id, currency, amount_cents)
    WHERE arrived_at IS NULL;
