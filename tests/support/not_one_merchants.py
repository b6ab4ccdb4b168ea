"""Statements that concern more than one merchant, each with the reason; and statements that a test
of two merchants with the same rows cannot check, with the test that does."""

from collections.abc import Mapping, Sequence

from dunwell.accounts.installation import audit_log
from dunwell.accounts.installation import store as installation_store
from dunwell.accounts.installation import store as secrets
from dunwell.accounts.installation.alerts import store as alerts_store
from dunwell.accounts.merchants import audit_log as audit_rows
from dunwell.accounts.merchants import store as merchants_store
from dunwell.accounts.merchants.credentials import store as credentials_store
from dunwell.accounts.users import store as users_store
from dunwell.accounts.users.factors import store as factors_store
from dunwell.accounts.users.sessions import store as sessions_store
from dunwell.accounts.users.sign_in import store as sign_in_store
from dunwell.accounts.users.single_sign_on import store as single_sign_on_store
from dunwell.adapters.mail import store as mail_store
from dunwell.adapters.payments.sandbox import store as sandbox_store
from dunwell.cases.direct_debit import store as debits_store
from dunwell.cases.direct_debit.files import store as debit_files_store
from dunwell.cases.direct_debit.provider_records import store as provider_records_store
from dunwell.cases.disputes import store as disputes_store
from dunwell.cases.intake import create_claims
from dunwell.cases.modalities import store as modalities_store
from dunwell.cases.modalities import sweep_modalities
from dunwell.cases.payments import store as payments_store
from dunwell.cases.payments.refunds import store as refunds_store
from dunwell.cases.payments.requests import closed_accounts
from dunwell.cases.payments.requests import store as requests_store
from dunwell.cases.rollout import store as rollout_store
from dunwell.cases.statements import store as statements_store
from dunwell.cases.statements.entries import store as entries_store
from dunwell.cases.statements.entries.interim import store as interim_store
from dunwell.cases.statements.listing import store as listing_store
from dunwell.cases.statements.matches import store as matches_store
from dunwell.cases.statements.matches.debits import store as named_debits_store
from dunwell.cases.statements.matches.returns import store as returns_store
from dunwell.cases.statements.payouts import store as payouts_store
from dunwell.contact.escalation import store as escalation_store
from dunwell.contact.escalation.contacts import store as contacts_store
from dunwell.contact.escalation.contacts.outcomes import store as outcomes_store
from dunwell.contact.escalation.reports import store as reports_store
from dunwell.contact.messages import suppression
from dunwell.contact.messages.communications import store as communications_store
from dunwell.contact.messages.guards import store as guards_store
from dunwell.contact.messages.ledger import store as ledger_store
from dunwell.contact.notices import store as notices_store
from dunwell.contact.notices.occasions import store as occasions_store
from dunwell.contact.sending import store as sending_store
from dunwell.contact.sending.batches import store as batches_store
from dunwell.contact.sending.batches.after_restore import store as after_restore_store
from dunwell.core.claims.lists import store as lists_store
from dunwell.core.claims.searching import store as searching_store
from dunwell.core.events import event_log
from dunwell.core.events import store as events_store
from dunwell.core.events.deliveries import replay
from dunwell.core.events.webhooks import store as webhooks_store
from dunwell.core.events.webhooks.health import store as health_store
from dunwell.core.files import store as files_store
from dunwell.core.workflows.drafts import store as drafts_store
from dunwell.core.workflows.versions import store as versions_store
from dunwell.interfaces.api import readiness
from dunwell.interfaces.cli.findings import backups
from dunwell.interfaces.landing.claim_page import other_claims
from dunwell.interfaces.landing.contact_preferences import store as contact_preferences_store
from dunwell.interfaces.landing.disputes import store as disputes_pages_store
from dunwell.interfaces.landing.session import store as session_store
from dunwell.interfaces.landing.sign_in import store as debtor_sign_in_store
from dunwell.operations.alerts import store as operations_alerts_store
from dunwell.operations.claim_status import store as explanation_store
from dunwell.operations.dashboards import store as deliveries_store
from dunwell.operations.jobs import store as jobs_store
from dunwell.operations.jobs.previews import store as previews_store
from dunwell.operations.keys import sealed_columns, sealed_files
from dunwell.operations.keys import versions as standing
from dunwell.operations.recovery import archive as archive_health
from dunwell.operations.recovery import dump, keep_archive
from dunwell.operations.recovery import restore_hold as hold
from dunwell.operations.sandbox import store as operations_sandbox_store
from dunwell.operations.seals import store as keys_store
from dunwell.platform import key_versions, watched_clock
from dunwell.platform.database import attempts, database, epochs, lists, migrate
from dunwell.platform.database import migrate as migrations
from tests.support.sql_statements import list_names_of


def _name(reasons: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    return {
        name: reason
        for reason, statements in reasons.items()
        for statement in statements
        for name in list_names_of(statement)
    }


NOT_ONE_MERCHANTS = _name({
    "a loop goes over all merchants, and what it takes bears its merchant": (
        sandbox_store._LEASE_NOTIFICATIONS,
        requests_store._LIST_BY_PROVIDER_IDS,
        requests_store._MAKE_DUE, requests_store._GIVE_UP, requests_store._MAKE_ALL_DUE,
        requests_store._LIST_ACCOUNTS, requests_store._LOCK_DUE, requests_store._SAVE_NEXT_CHECKS,
        refunds_store._LIST_ACCOUNTS, refunds_store._LEASE_DUE, refunds_store._GIVE_UP,
        searching_store._HAS_QUEUED,
        searching_store._INSERT,
        searching_store._LOAD,
        searching_store._QUEUE_REST,
        searching_store._DELETE_QUEUED,
        contacts_store._LIST_CHANNELS, jobs_store._LIST_EXPIRED,
        jobs_store._LEASE,
        escalation_store._LIST_MERCHANTS,
        webhooks_store._FIND_DUE,
        webhooks_store._RECORD, events_store._SAVE,
        health_store._COUNT_FAILING, health_store._LIST_UNDELIVERED,
        health_store._MARK_FAILURES_NOTIFIED, health_store._MARK_LOGGED,
        health_store._MARK_RECOVERIES_NOTIFIED, files_store._FIND_UNUSED,
        disputes_store._LIST_MERCHANTS,
        reports_store._LIST_MERCHANTS,
        reports_store._LOAD, reports_store._LOCK_REPORT,
        sending_store._LIST_MERCHANTS,
        sending_store._IS_KNOWN,
        sending_store._SAVE_INCOMING,
        sending_store._LOAD_ENTRIES["sms"],
        sending_store._LOAD_ENTRIES["reports"],
        sending_store._MARK_SEEN["sms"],
        sending_store._MARK_SEEN["reports"],
        reports_store._SAVE_DELIVERIES, sending_store._LOCK_DUE,
        sending_store._SAVE_REPORTS,
        batches_store._RELEASE_LETTERS,
        batches_store._LEASE_ABANDONED,
        batches_store._LOCK_OWN,
        batches_store._LOCK_WAITING,
        batches_store._DISSOLVE,
        batches_store._MARK_RELEASED,
        batches_store._MARK_WRITTEN,
        batches_store._ADD_TO_BATCH,
        batches_store._SAVE_BATCH,
        batches_store._REQUEST_WITHDRAWAL,
        after_restore_store._LOAD_LOSS,
        after_restore_store._LIST_UNCERTAIN,
        after_restore_store._LIST_KNOWN,
        after_restore_store._FIND_NEWEST,
        after_restore_store._SAVE_FOUND,
        after_restore_store._SAVE_LETTERS,
        after_restore_store._SETTLE_FOUND,
        after_restore_store._SETTLE_REPORTED,
        after_restore_store._CLEAR, after_restore_store._REQUEST_DECISION,
        after_restore_store._LIST_UNDECIDED,
        after_restore_store._MARK_RELEASED_BEFORE,
        after_restore_store._MARK_MISSING,
        after_restore_store._CLEAR_DECIDED,
        batches_store._BEGIN, batches_store._FINISH,
        batches_store._SAVE_STATUSES,
        sending_store._COUNT_BY_MESSAGE,
        batches_store._LOAD_ITEMS, batches_store._LIST_UNFINISHED,
        batches_store._LIST_TO_WITHDRAW,
        batches_store._SAVE,
        batches_store._RENEW,
        batches_store._LEASE,
        batches_store._RELEASE,
        batches_store._LOCK_INSTALLATION,
        sending_store._SAVE_OUTCOME, sending_store._SAVE_OUTCOMES,
        ledger_store._FIND_MERCHANTS, notices_store._ERASE,
        notices_store._LOCK_LEASED, notices_store._REPLAN,
        notices_store._LEASE,
        occasions_store._ERASE, occasions_store._FIND_DUE,
        debit_files_store._LIST_MERCHANTS,
        provider_records_store._LIST_MANDATE_ACCOUNTS, provider_records_store._GIVE_UP_MANDATES,
        provider_records_store._LIST_DEBIT_ACCOUNTS,
        provider_records_store._LEASE_MANDATES, provider_records_store._LEASE_DEBITS,
        provider_records_store._MAKE_NAMED_DUE, provider_records_store._GIVE_UP_DEBITS,
        statements_store._LEASE_FILE, statements_store._LIST_FETCHED,
        statements_store._LIST_MERCHANTS,
        matches_store._LIST_ACCOUNTS_WITH_NEW,
    ),
    "a sweep removes what is old of all merchants": (
        sending_store._SWEEP_INCOMING,
        contact_preferences_store._REMOVE_OLD_CHANGES,
        session_store._REMOVE_SESSIONS,
        session_store._REMOVE_OLD_DRAFTS,
        merchants_store._DELETE_STORED_RESPONSES,
        merchants_store._DELETE_QUOTAS, merchants_store._DELETE_SECRETS,
        merchants_store._DELETE_TOKENS, sending_store._SWEEP_REPORTS,
        batches_store._SWEEP,
    ),
    "values are sealed anew for all merchants, or counted by the key's version": (
        sealed_columns._LOAD_VALUE_STARTS, sealed_columns._LOAD_PART,
        sealed_columns._SAVE_VALUES, sealed_files._COUNT_UPLOADS,
        standing._COUNT_DIGESTS["check codes"],
        standing._COUNT_DIGESTS["ledger seals"],
        standing._COUNT_DIGESTS["letter codes"],
        standing._COUNT_DIGESTS["messages"],
        standing._COUNT_DIGESTS["notices"],
        standing._COUNT_DIGESTS["suppressions"],
        sealed_files._COUNT_LETTERS,
        sealed_files._LOAD_PART,
        sealed_files._SAVE_VERSIONS,
    ),
    "the merchant is what it finds: by a token, a link, a code, a key": (
        debtor_sign_in_store._LIST_CLAIMS_BY_CHECK_CODE,
        debtor_sign_in_store._FIND_CODE,
        debtor_sign_in_store._FIND_LINK,
        debtor_sign_in_store._LIST_CLAIMS_BY_REFERENCE,
        session_store._FIND_SESSION,
        session_store._FIND_SUCCESSOR,
        session_store._LIST_SESSIONS,
        credentials_store._FIND_ACCESSES,
        credentials_store._FIND_CREDENTIAL,
        credentials_store._FIND_ISSUING_MERCHANT,
        credentials_store._FIND_LIVE_CREDENTIAL,
        credentials_store._FIND_MERCHANT_BY_KEY,
        merchants_store._LOAD_MERCHANTS_PAGE,
        merchants_store._INSERT_MERCHANT,
    ),
    "the doctor names merchants of the whole installation": (
        files_store._LIST_NEAR, versions_store._LIST_CURRENT,
    ),
    "it belongs to the installation, or to a visitor of whom nothing is known": (
        audit_log._INSERT, audit_log._LOAD,
        alerts_store._INSERT_ALERTS, alerts_store._COLUMNS,
        alerts_store._END_ALERTS, alerts_store._UPSERT_ALERT,
        alerts_store._LIST_ACTIVE, alerts_store._LIST_UNREPORTED,
        alerts_store._SAVE_EVENT, alerts_store._UPDATE_ALERTS,
        alerts_store._SAVE_UNKNOWN_OUTCOMES,
        alerts_store._LEASE_MAILS, alerts_store._INSERT_MAILS, alerts_store._SAVE_MAIL_OUTCOME,
        closed_accounts._SAVE_FAILURE, closed_accounts._DELETE_FAILURE,
        closed_accounts._FIND_FAILURE, closed_accounts._IS_REMOVED,
        alerts_store._SWEEP_ALERTS,
        alerts_store._SWEEP_MAILS,
        operations_alerts_store._COUNT_BATCHES,
        operations_alerts_store._COUNT_FAILING, operations_alerts_store._LIST_MAILBOXES,
        operations_alerts_store._COUNT_MESSAGES,
        operations_alerts_store._COUNT_STEPS,
        operations_alerts_store._COUNT_DISABLED, operations_alerts_store._COUNT_OVERDUE,
        operations_alerts_store._FIND_LATE_STEP, operations_alerts_store._COUNT_UNMATCHED_REPORTS,
        operations_alerts_store._COUNT_UNMATCHED_SMS, operations_alerts_store._COUNT_UNKNOWN,
        operations_alerts_store._COUNT_UNSEEN, operations_alerts_store._COUNT_WAITING,
        operations_alerts_store._FIND_LAST_CHECK,
        operations_alerts_store._SAVE_NOTIFICATIONS,
        operations_alerts_store._LOCK_CHECK,
        mail_store._LOAD, mail_store._SAVE,
        secrets._LOAD_SECRETS, secrets._DELETE_OTHER_SECRETS,
        secrets._SAVE_SECRETS,
        installation_store._LIST_MERCHANTS_BY_PROVIDER,
        installation_store._LIST_MERCHANTS_BY_ACCOUNT,
        installation_store._LIST_PENDING_ACCOUNTS,
        installation_store._LIST_MERCHANTS_BY_BANK,
        installation_store._LIST_PROVIDERS_WITH_LETTERS,
        sending_store._COUNT_UNMATCHED,
        sending_store._LOCK_SEND_RATE, sending_store._SAVE_USED_RATE,
        deliveries_store._SELECT_BATCHES,
        deliveries_store._LIST_BATCHES,
        deliveries_store._LIST_BATCHES_OF_PROVIDER,
        deliveries_store._FIND_BATCH,
        deliveries_store._COUNT_STATUSES,
        deliveries_store._SELECT_LETTERS,
        deliveries_store._LIST_LETTERS,
        deliveries_store._LIST_FAILED_LETTERS,
        deliveries_store._LIST_DOUBTFUL_LETTERS,
        deliveries_store._COUNT_WAITING_LETTERS,
        deliveries_store._LIST_STATUS_FILES,
        explanation_store._LOAD_NAMES,
        deliveries_store._COUNT_BACKLOG,
        deliveries_store._COUNT_DELIVERIES,
        deliveries_store._LIST_FAILURES,
        deliveries_store._COUNT_SENT,
        deliveries_store._LIST_UNMATCHED,
        installation_store._LIST_UNTRUSTED_PROXIES, installation_store._LOAD,
        installation_store._LOCK,
        installation_store._SAVE_UNTRUSTED_PROXIES, installation_store._SAVE,
        keys_store._COUNT_UNSEALED,
        keys_store._LOAD_HEAD,
        keys_store._LOAD_SEALED,
        keys_store._LOAD_SEALS,
        keys_store._LOAD_UNSEALED,
        keys_store._SAVE_SEAL,
        standing._COUNT_DIGESTS["installation seals"],
        standing._COUNT_DIGESTS["disputes"], standing._LOCK,
        standing._RETIRE, attempts._LOAD,
        attempts._REMOVE, attempts._SAVE,
        key_versions._LOAD,
        key_versions._RECORD, debtor_sign_in_store._LIST_LINK_REQUESTS,
        debtor_sign_in_store._INSERT_LINK_REQUEST,
        debtor_sign_in_store._REMOVE_LINK_REQUEST,
        debtor_sign_in_store._COUNT_WRONG_CODES,
        debtor_sign_in_store._LOAD_VISITOR_REQUESTS,
        debtor_sign_in_store._REMOVE_WRONG_CODES,
        debtor_sign_in_store._REMOVE_VISITOR_REQUESTS,
        debtor_sign_in_store._SAVE_VISITOR_REQUEST,
        notices_store._LIST_REQUESTS_OF_ADDRESS,
    ),
    "it reads and writes no table of ours": (
        readiness._LOAD_STATE, readiness._TRY_WRITING,
        database._COMMIT,
        create_claims._RESERVE_IDS, keys_store._TRY_LOCK,
        attempts._LOCK_SUBJECT,
        migrate._HAS_RELATIONS, migrate._LOAD_RIGHTS,
        migrate._SET_TIMEOUT,
        migrate._SAVE_REVISION,
        migrate._TRY_LOCK,
        migrations.LOAD_REVISION,
        migrate._LOCK, watched_clock._GET_DATABASE_TIME,
        debtor_sign_in_store._LOCK_WRONG_CODES,
        debtor_sign_in_store._LOCK_VISITOR,
        merchants_store._TRY_LOCK,
        notices_store._LOCK_ADDRESS,
    ),
    "epochs and restores are the whole database's": (
        epochs._INSERT_FIRST_EPOCH, epochs._INSERT_EPOCH,
        epochs._COMPARE,
        epochs._FIND_HIGHEST, epochs._LIST_ORDERED_TABLES,
        epochs._LIST_SEQUENCES,
        epochs._LOAD_POSITION, epochs._MOVE_BY_ID,
        epochs._MOVE_BY_XMIN,
        epochs._SERVER, epochs._SET_SEQUENCE,
        backups._LOAD,
        dump._LIST_REMOVABLE,
        dump._LIST_SEQUENCES,
        dump._LIST_TABLES, dump._LOAD_LAST_VALUE,
        dump._SET_LAST_VALUE, hold._LIST_AFFECTED_CLAIMS,
        archive_health._LOAD_SERVER_LOG, hold._FIND_HOLD,
        hold._RESUME,
        hold.RECORD_RESTORE, keep_archive._COMMIT,
        keep_archive._NOW,
        keep_archive._SEGMENT, keep_archive._LOAD_SERVER,
        ),
    "a user is the installation's, and what they are at merchants is found by the user": (
        attempts._SUBTRACT,
        users_store._END,
        users_store._FIND, users_store._FIND_HASH,
        users_store._HAS_JOINED,
        users_store._INSERT, users_store._INSERT_MEMBERSHIPS,
        users_store._LIST,
        users_store._LIST_MERCHANTS, users_store._LOAD,
        users_store._LOAD_HASH,
        users_store._LOCK, users_store._LOCK_ADMINS,
        users_store._SELECT,
        users_store._REMOVE_HASH, users_store._REMOVE_MEMBERSHIPS,
        users_store._SAVE_HASH,
        users_store._SAVE_JOINED, users_store._SAVE_ROLES,
        users_store._SAVE_PROFILE,
        users_store._SAVE_REHASHED, sign_in_store._FIND_PENDING,
        sign_in_store._FIND_INVITATION,
        sign_in_store._INSERT_PENDING,
        sign_in_store._INSERT_INVITATION,
        sign_in_store._DELETE_EXPIRED,
        sign_in_store._DELETE_PENDING_OF,
        sign_in_store._DELETE_INVITATIONS,
        sign_in_store._USE_PENDING, sign_in_store._USE_INVITATION,
        sessions_store._DELETE_OLDEST_FORMS, sessions_store._DELETE_FORM,
        sessions_store._DELETE_EXPIRED_FORMS, sessions_store._SAVE_FORM,
        sessions_store._RESTORE_FORM,
        factors_store._CONFIRM_APP, factors_store._COUNT_CODES,
        factors_store._FIND_APP, factors_store._FIND_PASSKEY,
        factors_store._INSERT_APP,
        factors_store._INSERT_CHALLENGE,
        factors_store._INSERT_CODES,
        factors_store._INSERT_PASSKEY,
        factors_store._LOAD, factors_store._LOAD_CODES,
        factors_store._REMOVE, factors_store._REMOVE_ALL,
        factors_store._REMOVE_APP,
        factors_store._REMOVE_CHALLENGES,
        factors_store._REMOVE_CODES,
        factors_store._USE_CHALLENGE,
        factors_store._USE_CODE, factors_store._SAVE_COUNT,
        factors_store._USE_STEP, factors_store._TRIM_CHALLENGES,
        factors_store._TRIM_CHALLENGES_OF_USER,
        sessions_store._CONFIRM,
        sessions_store._END,
        sessions_store._END_ALL, sessions_store._END_BY_HASH,
        sessions_store._FIND_SHOWN_CODES,
        factors_store._COUNT_WRONG_CODES,
        factors_store._COUNT_WRONG_CODES_OF_BROWSER,
        factors_store._INSERT, factors_store._LOCK,
        factors_store._REMOVE_WRONG_CODES, sessions_store._FORGET_BROWSERS,
        sessions_store._FIND_BROWSER_OWNER, sessions_store._LIST_ACTIVE,
        sessions_store._LOAD_USER,
        sessions_store._LIST_FROM_NEW_NETWORKS,
        sessions_store._LOAD_OPENING, sessions_store._DELETE_EXPIRED_SESSIONS,
        sessions_store._INSERT_SESSION, sessions_store._SAVE_SHOWN_CODES,
        sessions_store._USE_SESSION,
        single_sign_on_store._END_SESSIONS,
        single_sign_on_store._FIND,
        single_sign_on_store._FIND_MERCHANTS,
        single_sign_on_store._ASSIGN,
        single_sign_on_store._INSERT_ATTEMPT,
        single_sign_on_store._INSERT_LOGOUT,
        single_sign_on_store._IS_LOGGED_OUT,
        single_sign_on_store._REMOVE_ATTEMPTS,
        single_sign_on_store._REMOVE_LOGOUTS,
        single_sign_on_store._SAVE,
        single_sign_on_store._SAVE_EMAIL,
        single_sign_on_store._SAVE_SEEN,
        single_sign_on_store._USE_ATTEMPT,
        single_sign_on_store._LOCK_ISSUER,
        users_store._COUNT_BREAK_GLASS,
        users_store._SAVE_BREAK_GLASS,
    ),
    "an identity's digest differs by merchant too: tests.engine.test_contact_stops tries it": (
        suppression._FIND_STOPPED,
    ),
    "each claim that is asked for bears its merchant: tests.engine.test_contact_stops tries it": (
        suppression._LOAD_PERSONS,
    ),
    "the scope that a list is read with puts the condition in: tests.store.test_lists tries it": (
        lists._ROWS_BY_KEY, lists._COUNT,
        lists._ROWS_OF_SCOPE, lists._FIND_LAST_READ,
        lists._FIND_FIRST_LATER_TRANSACTION, lists._FIND_OLDEST,
        lists._ROWS_IN_ORDER, lists._LIST,
    ),
    "its callers put the condition behind it": (
        communications_store._SELECT, suppression._FIND,
    ),
})  # fmt: skip

QUIET = _name({
    "saves a later day: tests.usecases.test_direct_debits tries it at two": (
        debits_store._SAVE_USED,
    ),
    "makes or writes the only row of a merchant: tests.usecases.test_storage_use tries it at two": (
        files_store._INSERT_USE, files_store._SAVE_USE,
    ),
    "reads the place of one job: tests.usecases.test_concurrent_previews tries two merchants": (
        previews_store._FIND_LIVE,
    ),
    "takes roles that no row has: tests.portal.test_assignees tries it with two merchants": (
        users_store._LIST_COLLEAGUES,
    ),
    "it finds merchants among those that are given: tests.portal tries it at two": (
        merchants_store._SEARCH,
    ),
    "a part of a statement, tried whole by tests.api.test_api_isolation": (
        lists_store._FIND_CLAIMS, searching_store._COUNT_WORDS,
        searching_store._FIND,
        searching_store._FIND_END,
        event_log._LOAD,
        event_log._LOAD_TIMED,
        files_store._POSTPONE_EXPIRY, other_claims._BY_EMAIL, other_claims._BY_NUMBER,
        disputes_pages_store._LIST_DRAFT_FILES,
        disputes_pages_store._LOAD_DRAFT_FIELDS,
        contact_preferences_store._LOAD_TYPED, suppression.LOAD_KNOWN,
        rollout_store._LOAD_OPEN_CONTACTS,
    ),
    "looks behind an instant that all rows bear: tests.engine.test_reports": (
        reports_store._LIST_UNKNOWN,
    ),
    "takes a place that no row holds: tests.engine.test_webhook_log tries it at two": (
        replay._REPLAY_GIVEN_UP,
    ),
    "no row has these values: tests.engine.test_statement_age tries it at two": (
        contacts_store._FIND_STATEMENT_LIMIT,
    ),
    "no row has such a rule; each of its tables is limited to the merchant": (
        named_debits_store._LIST_RECORDED,
    ),
    "no row has such a key or state: test_import_statements and test_interim_reports try it": (
        audit_rows._INSERT_MANY, matches_store._INSERT_MATCHES, entries_store._DELETE_TRANSACTIONS,
        entries_store._FIND_NOTIFIED, entries_store._FIND_STORED,
        statements_store._RELEASE_STATEMENT, statements_store._RELEASE_TRANSACTIONS,
        matches_store._FIND_OF_CUSTOMERS, returns_store._FIND_ORIGINALS,
        payouts_store._INSERT_PAYOUTS, matches_store._FIND_MATCH_OF_PAYMENT,
        matches_store._LIST_NEW, matches_store._SAVE_PROBLEM, interim_store._LIST_INTERIM,
        interim_store._LIST_CONFIRMED, interim_store._LIST_KNOWN_KEYS, interim_store._LET_MATCH,
        interim_store._LIST_OF_SAME_FILE,
    ),
    "takes records or places that no row holds; tried with two merchants by its use case": (
        disputes_store._LIFT_SUPPRESSION,
        contacts_store._HAND_OVER, jobs_store._SAVE_TOTAL,
        jobs_store._COUNT_REASONS,
        jobs_store._LIST_ROWS, jobs_store._COPY_FAILED_ROWS,
        outcomes_store._MARK_FAILED,
        create_claims._CREATE, merchants_store._ROTATE,
        guards_store._FREE_DAYS, guards_store._LOAD_COUNTED,
        occasions_store._SAVE_MANY,
        listing_store._LIST_LINES,
        payments_store._LOAD_SURPLUS, payments_store._LIST_REQUEST_MOVEMENTS,
        payments_store._LIST_PAYMENT_MOVEMENTS, payments_store._LIST_STATEMENT_RETURNS,
        refunds_store._FIND_BY_PROVIDER_ID, requests_store._LIST_EXPIRED_OPEN,
        sandbox_store._FIND_REFUND, sandbox_store._LOCK_PAID, sandbox_store._SAVE_RETURN,
        operations_sandbox_store._MOVE_CLOCK,
        drafts_store._INSERT,
        versions_store._LOAD_KNOWN_STEPS,
    ),
    "finds what contradicts: tests.usecases.test_verify_ledger": (
        ledger_store._CONTENTS,
        ledger_store._DIGEST_MISMATCHES,
        ledger_store._DUPLICATES,
        ledger_store._WITHOUT_CONTACT,
    ),
    "writes what stands there already: tests.engine.test_bounced_notices": (
        disputes_store._SAVE_HOLD,
    ),
    "acts on a state that none of these rows is in": (
        requests_store._FIND_COLLECTED_DEBIT, escalation_store._RETRY_WAITING,
        session_store._END_SESSION, session_store._RAISE_LEVEL, modalities_store.LOAD_UNSUCCESSFUL,
        credentials_store._EXPIRE_PREVIOUS,
        sweep_modalities._SET_END_OF_HOLDS,
        requests_store._SAVE_CHECKOUT,
    ),
})  # fmt: skip
