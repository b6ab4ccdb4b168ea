"""Statements that are of no one merchant, each with the reason; and those that two merchants with
the same rows cannot try, with what does.
"""

from collections.abc import Mapping, Sequence

from dunwell.accounts.installation import audit_log as audit
from dunwell.accounts.installation import audit_log as audit_entries
from dunwell.accounts.installation import secrets
from dunwell.accounts.installation import store as installation_store
from dunwell.accounts.installation.alerts import store as alarms_store
from dunwell.accounts.installation.alerts import store as mail_store
from dunwell.accounts.merchants import find_merchants, sweep
from dunwell.accounts.merchants import store as kept_answers
from dunwell.accounts.merchants import store as merchants_store
from dunwell.accounts.merchants import store as store_changes
from dunwell.accounts.merchants.credentials import store as store_lookup
from dunwell.accounts.merchants.credentials import store as store_revocations
from dunwell.accounts.users import store as store_colleagues
from dunwell.accounts.users import store as users_store
from dunwell.accounts.users.factors import store as store_factors
from dunwell.accounts.users.factors import store as store_wrong_codes
from dunwell.accounts.users.sessions import store as store_kept_forms
from dunwell.accounts.users.sessions import store as store_sessions
from dunwell.accounts.users.sign_in import store as store_entries
from dunwell.accounts.users.single_sign_on import store as store_identities
from dunwell.adapters.mail import store as mailbox_store
from dunwell.adapters.payments.sandbox import store as payments_sandbox_store
from dunwell.cases.disputes import store as disputes_store
from dunwell.cases.disputes import store as store_overdue
from dunwell.cases.disputes import store as store_withheld
from dunwell.cases.intake import create_claims
from dunwell.cases.intake import create_claims as claim_ids
from dunwell.cases.modalities import store as modalities_store
from dunwell.cases.modalities import sweep_modalities as rest_after_break
from dunwell.cases.payments import store as payments_store
from dunwell.cases.payments.requests import store as store_requests
from dunwell.cases.rollout.preview import store as running_store
from dunwell.contact.escalation import store as claim_contact_store
from dunwell.contact.escalation import store as due_claim_store
from dunwell.contact.escalation.contacts import store as contact_store
from dunwell.contact.escalation.contacts import store as gate_store
from dunwell.contact.escalation.contacts.outcomes import store as settlement_store
from dunwell.contact.escalation.reports import store as join_store
from dunwell.contact.messages import suppression
from dunwell.contact.messages import suppression as contact_stops
from dunwell.contact.messages.communications import store as communication_store
from dunwell.contact.messages.guards import store as guard_store
from dunwell.contact.messages.ledger import store as contact_check_store
from dunwell.contact.messages.ledger import store as ledger_store
from dunwell.contact.notices import store as leased_store
from dunwell.contact.notices import store as notices_store
from dunwell.contact.notices.occasions import store as store_occasions
from dunwell.contact.sending import store as incoming_store
from dunwell.contact.sending import store as pace_store
from dunwell.contact.sending import store as report_store
from dunwell.contact.sending import store as unplaced_store
from dunwell.contact.sending.batches import store as batch_store
from dunwell.contact.sending.batches import store as item_store
from dunwell.contact.sending.batches import store as status_store
from dunwell.contact.sending.batches.after_restore import store as doubt_store
from dunwell.core.claims.lists import store as store_lists
from dunwell.core.claims.searching import store as filling_store
from dunwell.core.claims.searching import store as searching_store
from dunwell.core.events import event_log as find_events
from dunwell.core.events import store as store_spans
from dunwell.core.events.deliveries import replay as replay_deliveries
from dunwell.core.events.webhooks import store as store_deliveries
from dunwell.core.events.webhooks.health import store as store_failing
from dunwell.core.files import store as files_store
from dunwell.core.files import store as store_attachments
from dunwell.core.files import store as store_use
from dunwell.core.workflows.drafts import store as store_draft_changes
from dunwell.core.workflows.versions import store as store_history
from dunwell.interfaces.api import readiness
from dunwell.interfaces.cli.findings import backups
from dunwell.interfaces.landing.claim import others
from dunwell.interfaces.landing.entering import store_asked_links, store_tries, store_ways
from dunwell.interfaces.landing.objecting import store as objecting_store
from dunwell.interfaces.landing.reaching import store as reaching_store
from dunwell.interfaces.landing.session import store as session_store
from dunwell.interfaces.landing.session import store_drafts
from dunwell.operations.alerts import store as backlog_store
from dunwell.operations.alerts import store as signs_store
from dunwell.operations.explanation import store as life_store
from dunwell.operations.explanation.deliveries import store as letter_batches_store
from dunwell.operations.explanation.deliveries import store as lines_store
from dunwell.operations.jobs import store as jobs_store
from dunwell.operations.jobs import store as store_rows
from dunwell.operations.jobs.previews import store as store_previews
from dunwell.operations.keys import sealed_columns, sealed_files, standing
from dunwell.operations.keys import store as installation_seals_store
from dunwell.operations.recovery import archive_health, dump, hold, keep_archive
from dunwell.operations.sandbox import store as operations_sandbox_store
from dunwell.platform import key_versions, watched_clock
from dunwell.platform.database import attempts, database, epochs, lists, migrate, migrations
from tests.support.written import list_names_of


def _name(reasons: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    return {
        name: reason
        for reason, statements in reasons.items()
        for statement in statements
        for name in list_names_of(statement)
    }


NOT_ONE_MERCHANTS = _name({
    "a loop goes over all merchants, and what it takes bears its merchant": (
        payments_sandbox_store._LEASE_NOTICES,
        filling_store._HAS_QUEUED,
        filling_store._INSERT,
        filling_store._LOAD,
        filling_store._QUEUE_REST,
        filling_store._TAKE,
        contact_store._FIND_CHANNELS, jobs_store._FIND_OLD,
        jobs_store._LEASE,
        due_claim_store._FIND_MERCHANTS,
        store_deliveries._FIND_DUE,
        store_deliveries._RECORD, store_spans._SAVE,
        store_failing._COUNT_FAILING, store_failing._COUNT_UNDELIVERED,
        store_failing._MARK_FAILURES_TOLD, store_failing._MARK_LOGGED,
        store_failing._MARK_RECOVERIES_TOLD, files_store._FIND_UNUSED,
        store_overdue._FIND_MERCHANTS,
        join_store._FIND_MERCHANTS,
        join_store._LOAD, join_store._LOCK_REPORT,
        incoming_store._FIND_MERCHANTS,
        incoming_store._IS_KNOWN,
        incoming_store._SAVE_INCOMING,
        unplaced_store._LISTS["sms"],
        unplaced_store._LISTS["reports"],
        unplaced_store._LOOKS["sms"],
        unplaced_store._LOOKS["reports"],
        join_store._NOTE, report_store._LOCK_DUE,
        report_store._SAVE,
        batch_store._LET_GO,
        batch_store._LEASE_LEFT,
        batch_store._LOCK_OWN,
        batch_store._LOCK_WAITING,
        batch_store._DISSOLVE,
        batch_store._MARK_RELEASED,
        batch_store._MARK_WRITTEN,
        batch_store._PUT_IN,
        batch_store._SAVE_BATCH,
        batch_store._TAKE_BACK,
        doubt_store._LOAD_LOSS,
        doubt_store._FIND,
        doubt_store._FIND_KNOWN,
        doubt_store._FIND_NEWEST,
        doubt_store._SAVE_FOUND,
        doubt_store._SAVE_LETTERS,
        doubt_store._SETTLE_FOUND,
        doubt_store._SETTLE_REPORTED,
        doubt_store._CLEAR, doubt_store._ASK,
        doubt_store._FIND_ASKED,
        doubt_store._MARK_RELEASED_BEFORE,
        doubt_store._MARK_GONE,
        doubt_store._CLEAR_ASKED,
        item_store._BEGIN, item_store._FINISH,
        item_store._SAVE_STATUSES,
        report_store._COUNT,
        item_store._FIND, item_store._FIND_LEFT,
        item_store._FIND_TAKING_BACK,
        status_store._SAVE,
        status_store._RENEW,
        status_store._LEASE,
        status_store._RELEASE,
        item_store._HOLD_PLACE,
        report_store._SETTLE, report_store._SETTLE_MANY,
        ledger_store._FIND_MERCHANTS, notices_store._EMPTY,
        leased_store._LOCK_LEASED, leased_store._TAKE_BACK,
        notices_store._LEASE,
        store_occasions._EMPTY, store_occasions._FIND_DUE,
        store_requests._FIND_MERCHANTS,
    ),
    "a sweep removes what is old of all merchants": (
        incoming_store._SWEEP_INCOMING,
        reaching_store._SWEEP,
        session_store._REMOVE_SESSIONS,
        store_drafts._REMOVE_OLD,
        sweep._REMOVE_KEPT_ANSWERS,
        sweep._REMOVE_QUOTAS, sweep._REMOVE_SECRETS,
        sweep._REMOVE_TOKENS, report_store._SWEEP,
        status_store._SWEEP,
    ),
    "values are sealed anew for all merchants, or counted by the key's version": (
        sealed_columns._LOAD_HEADS, sealed_columns._LOAD_PART,
        sealed_columns._SAVE, sealed_files._COUNT_UPLOADS,
        standing._COUNT_DIGESTS["check codes"],
        standing._COUNT_DIGESTS["ledger seals"],
        standing._COUNT_DIGESTS["letter codes"],
        standing._COUNT_DIGESTS["messages"],
        standing._COUNT_DIGESTS["notices"],
        standing._COUNT_DIGESTS["suppressions"],
        sealed_files._COUNT,
        sealed_files._LOAD_PART,
        sealed_files._SAVE,
    ),
    "the merchant is what it finds: by a token, a link, a code, a key": (
        store_ways._FIND_CHECKED,
        store_ways._FIND_CODE,
        store_ways._FIND_LINK,
        store_ways._FIND_REFERENCES,
        session_store._FIND_SESSION,
        session_store._FIND_SUCCESSOR,
        session_store._FIND_SESSIONS,
        store_lookup._FIND_ACCESSES,
        store_lookup._FIND_CREDENTIAL,
        store_lookup._FIND_ISSUER,
        store_lookup._FIND_LIVE_CREDENTIAL,
        store_lookup._FIND_MERCHANT_BY_KEY,
        merchants_store._LOAD_MERCHANTS_PAGE,
        store_changes._INSERT_MERCHANT,
    ),
    "the doctor names merchants of the whole installation": (
        store_use._LIST_NEAR, store_history._LIST_CURRENT,
    ),
    "it belongs to the installation, or to a visitor of whom nothing is known": (
        audit._INSERT, audit_entries._LOAD,
        alarms_store._BEGIN, alarms_store._COLUMNS,
        alarms_store._END, alarms_store._KEEP,
        alarms_store._LOAD_STANDING,
        alarms_store._LOAD_UNTOLD,
        alarms_store._SAVE_EVENT, alarms_store._SEE,
        mail_store._GIVE_UP,
        mail_store._HAND_OVER,
        mail_store._SAVE,
        mail_store._SETTLE,
        mail_store._SWEEP_ALARMS,
        mail_store._SWEEP_MAILS,
        signs_store._BATCHES,
        signs_store._FAILING, signs_store._MAILBOXES,
        backlog_store._COUNT_MESSAGES,
        backlog_store._COUNT_STEPS,
        signs_store._OFF, signs_store._OVERDUE,
        signs_store._STEPS, signs_store._STRANGE_REPORTS,
        signs_store._STRANGE_SMS, signs_store._UNKNOWN,
        signs_store._UNSEEN, signs_store._WAITING,
        signs_store._LOAD_LOOKED_AT,
        signs_store._SAVE_TELLINGS,
        signs_store._TAKE_TURN,
        mailbox_store._LOAD, mailbox_store._SAVE,
        secrets._LOAD, secrets._REMOVE,
        secrets._SAVE,
        installation_store._FIND_USERS, installation_store._FIND_WAITING,
        report_store._COUNT_STRANGE,
        pace_store._LOCK, pace_store._TAKE,
        letter_batches_store._BATCHES,
        letter_batches_store._FIND,
        letter_batches_store._FIND_OF_LINE,
        letter_batches_store._LOAD,
        letter_batches_store._COUNT,
        letter_batches_store._LETTERS,
        letter_batches_store._FIND_LETTERS,
        letter_batches_store._FIND_FAILED,
        letter_batches_store._FIND_ASKED,
        letter_batches_store._WAITING,
        letter_batches_store._STATUS_FILES,
        life_store._LOAD_NAMES,
        lines_store._BACKLOG,
        lines_store._DELIVERIES,
        lines_store._FAILURES,
        lines_store._SENT,
        lines_store._UNMATCHED,
        installation_store._LIST_FORWARDERS, installation_store._LOAD,
        installation_store._LOCK,
        installation_store._NOTE_FORWARDERS, installation_store._SAVE,
        installation_seals_store._COUNT_UNSEALED,
        installation_seals_store._LOAD_HEAD,
        installation_seals_store._LOAD_SEALED,
        installation_seals_store._LOAD_SEALS,
        installation_seals_store._LOAD_UNSEALED,
        installation_seals_store._SAVE_SEAL,
        standing._COUNT_DIGESTS["installation seals"],
        standing._COUNT_DIGESTS["disputes"], standing._LOCK,
        standing._RETIRE, attempts._LOAD,
        attempts._REMOVE, attempts._SAVE,
        key_versions._LOAD,
        key_versions._RECORD, store_asked_links._FIND,
        store_asked_links._SAVE,
        store_asked_links._TAKE,
        store_tries._COUNT_EVERYBODYS,
        store_tries._LOAD_VISITORS,
        store_tries._REMOVE_EVERYBODYS,
        store_tries._REMOVE_VISITORS,
        store_tries._SAVE_VISITORS,
        notices_store._LOAD_ASKED_TO_ONE,
    ),
    "it reads and writes no table of ours": (
        readiness._LOOK, readiness._WRITE,
        database._COMMIT,
        claim_ids._DRAW, installation_seals_store._TAKE_TURN,
        attempts._TAKE_TURN,
        migrate._HAS_RELATIONS, migrate._LOAD_RIGHTS,
        migrate._SET_TIMEOUT,
        migrate._SAVE_REVISION,
        migrate._TAKE_TURN,
        migrations.LOAD_REVISION,
        migrate._WAIT_FOR_TURN, watched_clock._ASK,
        store_tries._TAKE_EVERYBODYS_TURN,
        store_tries._TAKE_TURN,
        kept_answers._TRY_LOCK,
        notices_store._TAKE_TURN,
    ),
    "epochs and restores are the whole database's": (
        epochs._ADOPT, epochs._BEGIN,
        epochs._COMPARE,
        epochs._FIND_HIGHEST, epochs._LIST_ORDERED,
        epochs._LIST_SEQUENCES,
        epochs._LOAD_STANDING, epochs._MOVE_BY_ID,
        epochs._MOVE_BY_MARK,
        epochs._SERVER, epochs._SET_SEQUENCE,
        backups._LOAD,
        dump._LIST_REMOVABLE,
        dump._LIST_SEQUENCES,
        dump._LIST_TABLES, dump._LOAD_LAST_VALUE,
        dump._SET_LAST_VALUE, hold._FIND_CONCERNED,
        archive_health._LOG, hold._LOAD,
        hold._RESUME,
        hold.NOTE, keep_archive._COMMIT,
        keep_archive._NOW,
        keep_archive._SEGMENT, keep_archive._SERVER,
        ),
    "a user is the installation's, and what they are at merchants is found by the user": (
        attempts._GIVE_BACK,
        users_store._END,
        users_store._FIND, users_store._FIND_HASH,
        users_store._HAS_JOINED,
        users_store._INSERT, users_store._INSERT_MEMBERSHIPS,
        users_store._LIST,
        users_store._LIST_MERCHANTS, users_store._LOAD,
        users_store._LOAD_HASH,
        users_store._LOCK, users_store._LOCK_ADMINS,
        users_store._READ,
        users_store._REMOVE_HASH, users_store._REMOVE_MEMBERSHIPS,
        users_store._SAVE_HASH,
        users_store._SAVE_JOINED, users_store._SAVE_PLACE,
        users_store._SAVE_PROFILE,
        users_store._SAVE_REHASHED, store_entries._FIND_ENTRY,
        store_entries._FIND_INVITATION,
        store_entries._INSERT_ENTRY,
        store_entries._INSERT_INVITATION,
        store_entries._REMOVE_ENTRIES,
        store_entries._REMOVE_ENTRIES_OF,
        store_entries._REMOVE_INVITATIONS,
        store_entries._TAKE_ENTRY, store_entries._TAKE_INVITATION,
        store_kept_forms._DROP_OLDEST, store_kept_forms._REMOVE_FORM,
        store_kept_forms._REMOVE_EXPIRED, store_kept_forms._SAVE_FORM,
        store_kept_forms._TAKE_FORM,
        store_factors._CONFIRM_APP, store_factors._COUNT_CODES,
        store_factors._FIND_APP, store_factors._FIND_PASSKEY,
        store_factors._INSERT_APP,
        store_factors._INSERT_CHALLENGE,
        store_factors._INSERT_CODES,
        store_factors._INSERT_PASSKEY,
        store_factors._LOAD, store_factors._LOAD_CODES,
        store_factors._REMOVE, store_factors._REMOVE_ALL,
        store_factors._REMOVE_APP,
        store_factors._REMOVE_CHALLENGES,
        store_factors._REMOVE_CODES,
        store_factors._TAKE_CHALLENGE,
        store_factors._TAKE_CODE, store_factors._TAKE_COUNT,
        store_factors._TAKE_STEP, store_factors._TRIM_CHALLENGES,
        store_factors._TRIM_CHALLENGES_OF,
        store_sessions._CONFIRM,
        store_sessions._END,
        store_sessions._END_ALL, store_sessions._END_BY_HASH,
        store_sessions._FIND_CODES,
        store_wrong_codes._COUNT_WRONG_CODES,
        store_wrong_codes._COUNT_OF_BROWSER,
        store_wrong_codes._INSERT, store_wrong_codes._LOCK,
        store_wrong_codes._REMOVE_WRONG_CODES, store_sessions._FORGET_DEVICES,
        store_sessions._FIND_DEVICE_OWNER, store_sessions._LOAD,
        store_sessions._LOAD_USER,
        store_sessions._LOAD_NEW_PLACES,
        store_sessions._LOAD_OPENING, store_sessions._REMOVE,
        store_sessions._SAVE, store_sessions._SHOW_CODES,
        store_sessions._TAKE,
        store_identities._END_SESSIONS,
        store_identities._FIND,
        store_identities._FIND_MERCHANTS,
        store_identities._GIVE,
        store_identities._INSERT_ATTEMPT,
        store_identities._INSERT_LOGOUT,
        store_identities._IS_LOGGED_OUT,
        store_identities._REMOVE_ATTEMPTS,
        store_identities._REMOVE_LOGOUTS,
        store_identities._SAVE,
        store_identities._SAVE_EMAIL,
        store_identities._SAVE_SEEN,
        store_identities._TAKE_ATTEMPT,
        store_identities._TAKE_TURN,
        users_store._COUNT_BREAK_GLASS,
        users_store._SAVE_BREAK_GLASS,
    ),
    "an identity's digest differs by merchant too: tests.engine.test_contact_stops tries it": (
        contact_stops._FIND_STOPPED,
    ),
    "each claim that is asked for bears its merchant: tests.engine.test_contact_stops tries it": (
        contact_stops._LOAD_PERSONS,
    ),
    "the scope that a list is read with puts the condition in: tests.store.test_lists tries it": (
        lists._AMONG, lists._COUNT,
        lists._FEW, lists._FIND_LAST_READ,
        lists._FIND_LATER, lists._FIND_OLDEST,
        lists._IN_ORDER, lists._LIST,
    ),
    "its callers put the condition behind it": (
        communication_store._READ, suppression._FIND,
    ),
})  # fmt: skip

QUIET = _name({
    "makes or writes the only row of a merchant: tests.usecases.test_storage_use tries it at two": (
        store_use._BEGIN, store_use._SAVE_USE,
    ),
    "reads the place of one job: tests.usecases.test_preview_once tries it at two merchants": (
        store_previews._FIND_LIVE,
    ),
    "takes roles that no row has: tests.portal.test_assignees tries it with two merchants": (
        store_colleagues._LIST_COLLEAGUES,
    ),
    "it finds merchants among those that are given: tests.portal tries it at two": (
        find_merchants._FIND,
    ),
    "a part of a statement, tried whole by tests.api.test_api_isolation": (
        store_lists._FIND_FEW, searching_store._COUNT_WORDS,
        searching_store._FIND,
        searching_store._FIND_END,
        find_events._LOAD,
        find_events._LOAD_TIMED,
        store_attachments._RELEASED, others._BY_EMAIL, others._BY_NUMBER,
        objecting_store._LOAD_KEPT,
        objecting_store._LOAD_UNSENT,
        reaching_store._LOAD_TYPED, suppression.LOAD_KNOWN,
        running_store._LOAD_OPEN,
    ),
    "looks behind an instant that all rows bear: tests.engine.test_reports": (
        join_store._LOAD_UNKNOWN,
    ),
    "takes a place that no row holds: tests.engine.test_webhook_log tries it at two": (
        replay_deliveries._REPLAY_GIVEN_UP,
    ),
    "takes records or places that no row holds; tried with two merchants by its use case": (
        store_withheld._LIFT,
        gate_store._HAND_OVER, jobs_store._SET_TOTAL,
        store_rows._COUNT,
        store_rows._LIST, store_rows._SAVE_FAILED,
        settlement_store._MARK_FAILED,
        create_claims._CREATE, merchants_store._ROTATE,
        guard_store._GIVE_BACK, guard_store._LOAD_RAISED,
        store_occasions._SAVE_MANY,
        payments_store._LOAD_SURPLUS, operations_sandbox_store._MOVE,
        store_draft_changes._INSERT,
        store_history._LOAD_KNOWN_STEPS,
    ),
    "finds what contradicts: tests.usecases.test_verify_ledger": (
        contact_check_store._CONTENTS,
        contact_check_store._OTHER_DIGESTS,
        contact_check_store._TWICE,
        contact_check_store._WITHOUT_CONTACT,
    ),
    "writes what stands there already: tests.engine.test_news_that_bounces": (
        disputes_store._SAVE_HOLD,
    ),
    "acts on a state that none of these rows is in": (
        claim_contact_store._WAKE,
        session_store._END, session_store._RAISE, modalities_store.LOAD_UNSUCCESSFUL,
        store_revocations._END_ROTATED,
        rest_after_break._END_HOLDS,
        store_requests._OPEN,
    ),
})  # fmt: skip
