"""The statements of background work other than contacts: requested messages, deliveries, and the
deletion of old rows. Each has every reason why a row must not move."""

from datetime import timedelta
from uuid import UUID

from dunwell.accounts.installation.alerts import store as alerts_store
from dunwell.accounts.merchants import store as merchants_store
from dunwell.accounts.merchants.credentials import store as credentials_store
from dunwell.accounts.users.factors import store as factors_store
from dunwell.accounts.users.sessions import store as sessions_store
from dunwell.accounts.users.sign_in import store as sign_in_store
from dunwell.accounts.users.single_sign_on import store as single_sign_on_store
from dunwell.cases.disputes import store as disputes_store
from dunwell.cases.statements.matches.again import store as again_store
from dunwell.contact.escalation.reports import store as reports_store
from dunwell.contact.messages.ledger import store as ledger_store
from dunwell.contact.notices import store as notices_store
from dunwell.contact.notices.occasions import store as occasions_store
from dunwell.contact.sending import store as sending_store
from dunwell.contact.sending.batches import store as batches_store
from dunwell.contact.sending.batches.after_restore import store as after_restore_store
from dunwell.core.claims import store as claims_store
from dunwell.core.claims.searching import store as searching_store
from dunwell.core.events import store as events_store
from dunwell.core.events.deliveries import replay
from dunwell.core.events.webhooks import store as webhooks_store
from dunwell.core.events.webhooks.health import store as health_store
from dunwell.core.files import store as files_store
from dunwell.interfaces.landing.contact_preferences import store as contact_preferences_store
from dunwell.interfaces.landing.session import details
from dunwell.interfaces.landing.session import store as session_store
from dunwell.interfaces.landing.sign_in import store as debtor_sign_in_store
from dunwell.operations.alerts import store as operations_alerts_store
from dunwell.operations.dashboards import overview
from dunwell.operations.dashboards import store as deliveries_store
from dunwell.operations.recovery import restore_hold as hold
from dunwell.operations.sandbox import store as operations_sandbox_store
from dunwell.platform.database import attempts
from tests.support.moves_of_money import MOVES_OF_MONEY
from tests.support.rows import NOW
from tests.support.sql_statements import list_names_of
from tests.support.two_claims import (
    FIRST,
    IDS,
    JUST_LATER,
    LEASE,
    LONG_AGO,
    OTHER_LEASE,
    UNTIL,
    UUIDS,
    MovingStatement,
    Rows,
)

_ENDPOINT = UUID(int=9)
_LEASED = {"state": "HANDED_OVER", "lease_id": LEASE}


def _old(
    statement: str, table: str, key: str, instant: str, *, takes_limit: bool = True
) -> MovingStatement:
    """A statement that deletes rows older than an instant. Rows of exactly that instant stay."""
    return MovingStatement(
        statement, (NOW, 10) if takes_limit else (NOW,), {table: {instant: LONG_AGO}}, table, key,
        {"not old enough": f"UPDATE {table} SET {instant} = '{NOW.isoformat()}'"}, whose="ALL",
    )  # fmt: skip


_REMOVALS = [
    _old(merchants_store._DELETE_TOKENS, "access_tokens", "credential_id", "expires_at"),
    _old(
        merchants_store._DELETE_SECRETS, "credential_secrets", "credential_id",
        "expires_at",
        takes_limit=False,
    ),
    _old(
        merchants_store._DELETE_QUOTAS, "request_quotas", "credential_id", "minute",
        takes_limit=False,
    ),
    _old(merchants_store._DELETE_STORED_RESPONSES, "idempotency_keys", "key", "created_at"),
    _old(session_store._REMOVE_SESSIONS, "debtor_sessions", "claim_id",
    "expires_at"),
    _old(session_store._REMOVE_OLD_DRAFTS, "debtor_drafts", "claim_id",
    "kept_until"),
    _old(contact_preferences_store._REMOVE_OLD_CHANGES, "pending_contact_changes", "claim_id",
    "expires_at"),
]  # fmt: skip

_SETTLED_NOTICE = {"state": "ACCEPTED", "due_at": None, "settled_at": LONG_AGO}
_NOTICE_DONE = f"state = 'ACCEPTED', due_at = NULL, settled_at = '{NOW.isoformat()}'"
_NOT_OURS = {
    "another's lease": f"UPDATE debtor_notices SET lease_id = '{OTHER_LEASE}'",
    "settled": f"UPDATE debtor_notices SET {_NOTICE_DONE}",
    "planned": "UPDATE debtor_notices SET state = 'PLANNED'",
}
_NOTICES = [
    MovingStatement(
        notices_store._LEASE, (NOW, LEASE, UNTIL, [], [], [], 10, 10),
        {"debtor_notices": {"due_at": NOW}}, "debtor_notices", "claim_id",
        {
            "not due": f"UPDATE debtor_notices SET due_at = {JUST_LATER}",
            "settled": f"UPDATE debtor_notices SET {_NOTICE_DONE}",
        },
        whose="ALL", passes_by="debtor_notices",
    ),
    MovingStatement(
        notices_store._REPLAN, ([FIRST], [UUIDS[1]], LEASE, NOW),
        {"debtor_notices": _LEASED}, "debtor_notices", "claim_id", _NOT_OURS, whose="SECOND",
    ),
    *(
        MovingStatement(
            statement, (FIRST, UUIDS[1], LEASE, *values), {"debtor_notices": _LEASED},
            "debtor_notices", "claim_id", _NOT_OURS, whose="SECOND", passes_by=passes_by,
        )
        for statement, values, passes_by in (
            (notices_store._RENEW, (UNTIL,), "debtor_notices"),
            (notices_store._SAVE_OUTCOME, ("ACCEPTED", None, None, NOW, "sms-a"), None),
        )
    ),
    MovingStatement(
        notices_store._ERASE, (NOW, 10), {"debtor_notices": _SETTLED_NOTICE},
        "debtor_notices",
        "claim_id",
        {
            "not old enough": f"UPDATE debtor_notices SET settled_at = '{NOW.isoformat()}'",
            "under way": f"UPDATE debtor_notices SET state = 'PLANNED', settled_at = NULL,"
            f" due_at = '{NOW.isoformat()}'",
        },
        whose="ALL", passes_by="debtor_notices",
    ),
]  # fmt: skip

_TOLD = {"occasion": "plan", "subject": "a", "facts": {}, "due_at": NOW, "ended_at": None}
_OVER = f"UPDATE debtor_occasions SET due_at = NULL, ended_at = '{NOW.isoformat()}'"
_NOT_YET = {"not due": f"UPDATE debtor_occasions SET due_at = {JUST_LATER}", "over": _OVER}
_OCCASIONS = [
    MovingStatement(
        occasions_store._FIND_DUE, (NOW, 10), {"debtor_occasions": _TOLD},
        "debtor_occasions", "claim_id", _NOT_YET, answers="claim_id", whose="ALL",
    ),
    MovingStatement(
        occasions_store._LOCK, (FIRST, IDS[1], "plan", "a", NOW),
        {"debtor_occasions": _TOLD | {"notice_id": UUIDS}}, "debtor_occasions", "claim_id",
        _NOT_YET, answers="notice_id", whose="SECOND",
    ),
    MovingStatement(
        occasions_store._ERASE, (NOW, 10, NOW, ["dispute_answer"]),
        {"debtor_occasions": _TOLD | {"due_at": None, "ended_at": LONG_AGO}}, "debtor_occasions",
        "claim_id",
        {
            "not old enough": f"UPDATE debtor_occasions SET ended_at = '{NOW.isoformat()}'",
            "told still": "UPDATE debtor_occasions SET ended_at = NULL,"
            f" due_at = '{NOW.isoformat()}'",
        },
        whose="ALL", passes_by="debtor_occasions",
    ),
]  # fmt: skip

_OPEN = {"state": "OPEN", "opened_at": LONG_AGO, "overdue_reported_at": None}
_OBJECTIONS = [
    MovingStatement(
        disputes_store._LIST_OVERDUE, (FIRST, NOW, 10), {"disputes": _OPEN}, "disputes",
        "claim_id",
        {
            "not old enough": f"UPDATE disputes SET opened_at = '{NOW.isoformat()}'",
            "answered": "UPDATE disputes SET state = 'REJECTED', resolved_at = opened_at",
            "told": "UPDATE disputes SET overdue_reported_at = opened_at",
        },
        answers="claim_id",
    ),
]  # fmt: skip

_DELIVERY = {"endpoint_id": _ENDPOINT, "event_id": UUIDS}
_DONE = "UPDATE deliveries SET state = 'DELIVERED', due_at = NULL"
_DELIVERIES = [
    MovingStatement(
        webhooks_store._FIND_DUE, (NOW, 0, UUID(int=0), 10),
        {"webhook_endpoints": {}, "deliveries": {"is_replay": is_replay}}, "webhook_endpoints",
        "endpoint_id",
        {
            "not due": f"UPDATE deliveries SET due_at = {JUST_LATER}",
            "delivered": _DONE,
            "removed": "UPDATE webhook_endpoints SET removed_at = created_at",
            "switched off": "UPDATE webhook_endpoints SET disabled_at = created_at,"
            f" probe_at = {JUST_LATER}",
        },
        answers="endpoint_id", whose="ALL", case="replayed" if is_replay else "live",
    )
    for is_replay in (False, True)
] + [
    MovingStatement(
        webhooks_store._LEASE, (FIRST, _ENDPOINT, NOW, 10, UNTIL, LEASE),
        {"events": {}, "deliveries": {**_DELIVERY, "is_replay": is_replay}}, "deliveries",
        "event_id",
        {
            "not due": f"UPDATE deliveries SET due_at = {JUST_LATER}",
            "delivered": _DONE,
            "another endpoint's": "ALTER TABLE deliveries DISABLE TRIGGER ALL;"
            f"UPDATE deliveries SET endpoint_id = '{UUID(int=8)}'"
            f" WHERE merchant_id = {FIRST} AND event_id = '{UUIDS[1]}';"
            "ALTER TABLE deliveries ENABLE TRIGGER ALL",
        },
        passes_by="deliveries", case="replayed" if is_replay else "live",
    )
    for is_replay in (False, True)
] + [
    MovingStatement(
        webhooks_store._RELEASE, (FIRST, _ENDPOINT, UUIDS, [LEASE], UNTIL),
        {"deliveries": {**_DELIVERY, "lease_id": LEASE}}, "deliveries", "event_id",
        {"another's lease": f"UPDATE deliveries SET lease_id = '{OTHER_LEASE}'"},
    ),
    MovingStatement(
        webhooks_store._RECORD,
        (
            [FIRST] * 2, [_ENDPOINT] * 2, UUIDS, [LEASE] * 2, IDS, ["DELIVERED"] * 2, [None] * 2,
            [NOW] * 2, IDS, [200] * 2, [None] * 2, [None] * 2,
        ),
        {"deliveries": {**_DELIVERY, "lease_id": LEASE}}, "deliveries", "event_id",
        {"another's lease": f"UPDATE deliveries SET lease_id = '{OTHER_LEASE}'"},
    ),
]  # fmt: skip

_HELD: Rows = {
    "claims": {"held": True},
    "holds": {"claim_id": IDS, "since": LONG_AGO, "until": NOW},
}
_STANDS = {
    "not over": f"UPDATE holds SET until = {JUST_LATER}",
    "without end": "UPDATE holds SET until = NULL",
    "lifted": "UPDATE holds SET lifted_at = since",
}
_REST = [
    MovingStatement(
        claims_store._LIST_CLAIMS_WITH_ENDED_HOLDS, (NOW, None, 10), _HELD, "holds", "claim_id",
        _STANDS,
        answers="claim_id", whose="ALL",
    ),
    MovingStatement(
        claims_store._LIST_CLAIMS_WITH_ENDED_HOLDS, (NOW, FIRST, 10), _HELD, "holds", "claim_id",
        _STANDS,
        answers="claim_id", case="of one merchant",
    ),
    MovingStatement(
        claims_store._LIFT_ENDED, (FIRST, IDS, NOW), _HELD, "claims", "claim_id",
        _STANDS
    ),
    MovingStatement(
        files_store._FIND_UNUSED, (LONG_AGO, NOW, 10),
        {"uploads": {"expires_at": LONG_AGO}}, "uploads", "ticket_id",
        {
            "not old enough": f"UPDATE uploads SET expires_at = '{NOW.isoformat()}'",
            "looked at before": "UPDATE uploads SET expires_at ="
            f" '{(LONG_AGO - timedelta(microseconds=1)).isoformat()}'",
        },
        answers="ticket_id", whose="ALL",
    ),
    MovingStatement(
        ledger_store._LOCK_SEALING, (FIRST,), {}, "merchants", "merchant_id", {},
        answers="merchant_id", whose="FIRST", passes_by="merchants",
    ),
]  # fmt: skip

MOVES_OF_SWEEPS = [
    *_REMOVALS,
    *_NOTICES,
    *_OCCASIONS,
    *_OBJECTIONS,
    *_DELIVERIES,
    *MOVES_OF_MONEY,
    *_REST,
]

_NO_MERCHANT = "of no merchant: its age is tried by tests.usecases.test_age_limits"
_REPORTS = "reports are of no merchant by their key: tried by tests.engine.test_reports"
_BATCHES = "a batch is of a line, not of a merchant: tried by tests.engine.test_letter_batches"
_ALARMS = "alarms are of no merchant by their key: tried by tests.usecases.test_alerts"
_STATUSES = "a reader is of a line: tried by tests.engine.test_letter_statuses"
_DOUBT = "letters of a line in doubt: tried by tests.engine.test_letters_after_restore"
_READS = "reads what somebody asked for, and moves nothing"
_FAILING = "over all merchants: tried by tests.usecases.test_failing_endpoints"
_BACKLOG = "counts over all merchants: tried by tests.usecases.test_backlog_figures"
_MATCHED_AGAIN = "which transactions it takes: tried by tests.usecases.test_match_again"
_SEARCH = "what it takes names its merchant: tried by tests.usecases.test_search_backfill"
# Statements that depend on the time or on locks and are tested elsewhere, with the test.
_WHY_NOT_TWO = {
    again_store._RENEW_RECENT: _MATCHED_AGAIN,
    searching_store._LOAD: _SEARCH,
    searching_store._DELETE_QUEUED: _SEARCH,
    alerts_store._SAVE_UNKNOWN_OUTCOMES: _ALARMS,
    alerts_store._LEASE_MAILS: _ALARMS,
    alerts_store._SWEEP_ALERTS: _ALARMS,
    alerts_store._SWEEP_MAILS: _ALARMS,
    operations_alerts_store._COUNT_STEPS: _BACKLOG,
    operations_alerts_store._COUNT_FAILING: _FAILING,
    operations_alerts_store._COUNT_DISABLED: _ALARMS,
    health_store._MARK_FAILURES_NOTIFIED: _FAILING,
    health_store._MARK_LOGGED: _FAILING,
    health_store._MARK_RECOVERIES_NOTIFIED: _FAILING,
    operations_alerts_store._COUNT_OVERDUE: _ALARMS,
    operations_alerts_store._FIND_LATE_STEP: _ALARMS,
    operations_alerts_store._COUNT_UNKNOWN: _ALARMS,
    operations_alerts_store._COUNT_UNSEEN: _ALARMS,
    operations_alerts_store._COUNT_WAITING: _ALARMS,
    operations_alerts_store._LOCK_CHECK: _ALARMS,
    after_restore_store._LIST_UNCERTAIN: _DOUBT,
    after_restore_store._FIND_NEWEST: _DOUBT,
    batches_store._RELEASE: _STATUSES,
    batches_store._RENEW: _STATUSES,
    batches_store._LEASE: _STATUSES,
    batches_store._DISSOLVE: _BATCHES,
    batches_store._LEASE_ABANDONED: _BATCHES,
    batches_store._LOCK_OWN: _BATCHES,
    batches_store._LOCK_WAITING: _BATCHES,
    batches_store._MARK_WRITTEN: _BATCHES,
    batches_store._LIST_UNFINISHED: _BATCHES,
    batches_store._SWEEP: "tried by tests.engine.test_letter_statuses",
    reports_store._LOCK_REPORT: _REPORTS,
    sending_store._SWEEP_INCOMING: (
        "replies are of no merchant by their key: tried by tests.usecases.test_receive_sms"
    ),
    sending_store._LOCK_DUE: _REPORTS,
    sending_store._SWEEP_REPORTS: _REPORTS,
    attempts._REMOVE: _NO_MERCHANT,
    debtor_sign_in_store._REMOVE_WRONG_CODES: _NO_MERCHANT,
    debtor_sign_in_store._REMOVE_VISITOR_REQUESTS: _NO_MERCHANT,
    replay._WANTED: "a part of the next two",
    replay._COUNT: "tried by tests.engine.test_replay_events",
    replay._REPLAY: "tried by tests.engine.test_replay_events",
    events_store._FIND: _READS,
    reports_store._LIST_UNKNOWN: _READS,
    deliveries_store._COUNT_BACKLOG: _READS,
    overview._LOAD: _READS,
    debtor_sign_in_store._LIST_CLAIMS_BY_CHECK_CODE: _READS,
    debtor_sign_in_store._FIND_CODE: _READS,
    debtor_sign_in_store._FIND_LINK: _READS,
    details.PREVIEW: _READS,
    merchants_store._SEARCH: _READS,
    credentials_store._FIND_ACCESSES: _READS,
    merchants_store._LOAD_MERCHANT: _READS,
    merchants_store._LOAD_MERCHANTS_PAGE: _READS,
    merchants_store._INSERT_MERCHANT: "a merchant of its own",
    single_sign_on_store._REMOVE_ATTEMPTS: _NO_MERCHANT,
    single_sign_on_store._REMOVE_LOGOUTS: _NO_MERCHANT,
    sign_in_store._DELETE_EXPIRED: _NO_MERCHANT,
    factors_store._REMOVE_CHALLENGES: _NO_MERCHANT,
    sessions_store._DELETE_EXPIRED_FORMS: _NO_MERCHANT,
    factors_store._REMOVE_WRONG_CODES: _NO_MERCHANT,
    sessions_store._DELETE_EXPIRED_SESSIONS: _NO_MERCHANT,
    sessions_store._USE_SESSION: ("moves one session's use: tried by tests.people.test_sessions"),
    hold._LIST_AFFECTED_CLAIMS: "lists what a restore concerns, and moves nothing",
    operations_sandbox_store._LOAD_DUE_TIMES: "tried by tests.engine.test_sandbox_order",
    operations_sandbox_store._MOVE_CLOCK: (
        "moves one merchant's clock: tried by tests.store.test_isolation"
    ),
}
NOT_TWO = {
    name: reason for statement, reason in _WHY_NOT_TWO.items() for name in list_names_of(statement)
}
