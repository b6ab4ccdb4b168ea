"""The statements of background work with money: payments, refunds, plans, debits and files of
banks. Each has every reason why a row must not move."""

from datetime import timedelta

from dunwell.adapters.payments.sandbox import store as sandbox_store
from dunwell.cases.direct_debit import store as debits_store
from dunwell.cases.direct_debit.files import store as debit_files_store
from dunwell.cases.direct_debit.provider_records import store as provider_records_store
from dunwell.cases.modalities import store as modalities_store
from dunwell.cases.payments.refunds import store as refunds_store
from dunwell.cases.payments.requests import store as requests_store
from dunwell.cases.statements import store as statements_store
from tests.support.rows import NOW
from tests.support.two_claims import (
    FIRST,
    IDS,
    JUST_LATER,
    LEASE,
    OTHER_LEASE,
    UNTIL,
    UUIDS,
    MovingStatement,
    Rows,
)

_CLAIM = {"status": "IN_PROCESS"}
_AN_HOUR_BEHIND = (NOW - timedelta(hours=1)).isoformat()
_ITS_CLOCK = f"UPDATE merchants SET sandbox = true, sandbox_now = '{_AN_HOUR_BEHIND}'"
_LATER_CLOCK = {"its clock stands before": _ITS_CLOCK}
_REQUEST: Rows = {"payment_requests": {"next_check_at": NOW, "provider": "cards"}}
_NOT_TO_BE_CHECKED = {
    "not due": f"UPDATE payment_requests SET next_check_at = {JUST_LATER}",
    "settled": "UPDATE payment_requests SET next_check_at = NULL",
}
_REFUND: Rows = {
    "payment_refunds": {
        "next_attempt_at": NOW,
        "provider": "cards",
        "effect": "REOPEN",
        "state": "CREATED",
    }
}
_REFUND_NOT_DUE = {
    "not due": f"UPDATE payment_refunds SET next_attempt_at = {JUST_LATER}",
    "answered": "UPDATE payment_refunds SET next_attempt_at = NULL",
}
_PLAN: Rows = {"claims": _CLAIM, "payment_modalities": {"check_at": NOW}}
_ENDED = f"UPDATE payment_modalities SET ended_at = '{NOW.isoformat()}', ended_reason = 'PASSED'"
_PLAN_ENDED = {
    "not due": f"UPDATE payment_modalities SET check_at = {JUST_LATER}",
    "ended": _ENDED,
}
_MANDATE: Rows = {"claims": _CLAIM, "mandates": {"check_at": NOW}}
_MANDATE_ENDED = {
    "not due": f"UPDATE mandates SET check_at = {JUST_LATER}",
    "ended": "UPDATE mandates SET check_at = NULL",
}
_DEBIT_FILE: Rows = {"debit_files": {"next_attempt_at": NOW}}
_DEBIT_FILE_DONE = {
    "not due": f"UPDATE debit_files SET next_attempt_at = {JUST_LATER}",
    "delivered": "UPDATE debit_files SET next_attempt_at = NULL",
}
_PROVIDER_MANDATE = {
    "mandate_id": UUIDS,
    "modality_id": UUIDS,
    "provider": "bank",
    "provider_mandate_id": None,
    "checkout_id": None,
    "state": "OPEN",
    "next_check_at": NOW,
}
_PROVIDER_DEBIT: Rows = {
    "claims": _CLAIM,
    "provider_mandates": _PROVIDER_MANDATE,
    "debit_collections": {"collection_id": UUIDS, "mandate_id": UUIDS, "claim_id": IDS},
    "payment_requests": {"request_id": UUIDS, "claim_id": IDS},
    "provider_debits": {"collection_id": UUIDS, "provider": "bank", "next_attempt_at": NOW},
}
_PROVIDER_LEASE = ("bank", NOW, timedelta(minutes=1), 10)
_DEBITS = [
    MovingStatement(
        provider_records_store._LEASE_MANDATES, _PROVIDER_LEASE,
        {"provider_mandates": _PROVIDER_MANDATE}, "provider_mandates", "mandate_id",
        {
            "not due": f"UPDATE provider_mandates SET next_check_at = {JUST_LATER}",
            "at another account": "UPDATE provider_mandates SET provider = 'cards'",
        },
        whose="ALL", passes_by="provider_mandates",
    ),
    MovingStatement(
        provider_records_store._LEASE_DEBITS, _PROVIDER_LEASE, _PROVIDER_DEBIT,
        "provider_debits", "collection_id",
        {
            "not due": f"UPDATE provider_debits SET next_attempt_at = {JUST_LATER}",
            "called": "UPDATE provider_debits SET next_attempt_at = NULL",
        },
        whose="ALL", passes_by="provider_debits",
    ),
    MovingStatement(
        debits_store._LOCK_DUE_CLAIMS, (FIRST, NOW, 10), _MANDATE, "mandates", "claim_id",
        _MANDATE_ENDED, answers="claim_id", passes_by="claims",
    ),
    MovingStatement(
        debits_store._LIST_DUE_MANDATES, (FIRST, IDS, NOW), _MANDATE, "mandates", "claim_id",
        _MANDATE_ENDED, answers="claim_id",
    ),
    MovingStatement(
        debits_store._LIST_MERCHANTS, (NOW, None), _MANDATE, "mandates", "claim_id",
        {**_MANDATE_ENDED, **_LATER_CLOCK}, answers="merchant_id", whose="MERCHANTS",
    ),
    MovingStatement(
        debit_files_store._LIST_MERCHANTS, (NOW, 10), _DEBIT_FILE, "debit_files", "file_id",
        _DEBIT_FILE_DONE, answers="merchant_id", whose="MERCHANTS",
    ),
    MovingStatement(
        debit_files_store._LEASE, (FIRST, NOW, UNTIL),
        {"debit_files": {"next_attempt_at": [UNTIL, NOW]}}, "debit_files", "file_id",
        _DEBIT_FILE_DONE, answers="file_id", whose="SECOND", passes_by="debit_files",
    ),
]  # fmt: skip
_FILE = {"state": "WAITING", "due_at": NOW}
_RUNNING_FILE: Rows = {"bank_files": {"state": "RUNNING", "due_at": NOW, "lease_id": LEASE}}
_FILE_OF_ANOTHER = {
    "another's lease": f"UPDATE bank_files SET lease_id = '{OTHER_LEASE}'",
}
_FILE_CANCELLED = {"cancelled": f"UPDATE bank_files SET cancelled_at = '{NOW.isoformat()}'"}
_STATEMENTS = [
    MovingStatement(
        statements_store._LEASE_FILE,
        (NOW, UNTIL, LEASE, 10),
        {"bank_files": _FILE},
        "bank_files",
        "file_id",
        {
            "not due": f"UPDATE bank_files SET due_at = {JUST_LATER}",
            "over": "UPDATE bank_files SET due_at = NULL",
        },
        whose="ALL",
        passes_by="bank_files",
    ),
    MovingStatement(
        statements_store._SAVE_PROGRESS,
        (FIRST, UUIDS[1], LEASE, UNTIL, 9, 1, 1, 1),
        _RUNNING_FILE,
        "bank_files",
        "file_id",
        {**_FILE_OF_ANOTHER, **_FILE_CANCELLED},
        whose="SECOND",
    ),
    MovingStatement(
        statements_store._END_FILE,
        (FIRST, UUIDS[1], LEASE, "DONE", [], NOW),
        _RUNNING_FILE,
        "bank_files",
        "file_id",
        _FILE_OF_ANOTHER,
        whose="SECOND",
    ),
]
MOVES_OF_MONEY = [
    *_DEBITS,
    *_STATEMENTS,
    MovingStatement(
        requests_store._LOCK_DUE, ("cards", NOW, 10), _REQUEST, "payment_requests",
        "claim_id", _NOT_TO_BE_CHECKED, answers="claim_id", whose="ALL",
        passes_by="payment_requests",
    ),
    MovingStatement(
        refunds_store._LEASE_DUE, ("cards", NOW, timedelta(minutes=5), 10), _REFUND,
        "payment_refunds", "claim_id", _REFUND_NOT_DUE, answers="claim_id", whose="ALL",
        passes_by="payment_refunds",
    ),
    MovingStatement(
        modalities_store._LOCK_DUE_CLAIMS, (FIRST, NOW, 10, None), _PLAN, "payment_modalities",
        "claim_id", _PLAN_ENDED, answers="claim_id", passes_by="claims",
    ),
    MovingStatement(
        modalities_store._LIST_DUE_CLAIMS, (FIRST, NOW, 10), _PLAN, "payment_modalities",
        "claim_id", _PLAN_ENDED, answers="claim_id",
    ),
    MovingStatement(
        modalities_store._LIST_MERCHANTS, (NOW, None), _PLAN, "payment_modalities",
        "claim_id", {**_PLAN_ENDED, **_LATER_CLOCK}, answers="merchant_id", whose="MERCHANTS",
    ),
    MovingStatement(
        sandbox_store._LEASE_NOTIFICATIONS, (NOW, UNTIL, 10),
        {"sandbox_checkouts": {"notices_due": 1, "notice_at": NOW}}, "sandbox_checkouts",
        "checkout_id",
        {
            "not due": f"UPDATE sandbox_checkouts SET notice_at = {JUST_LATER}",
            "sent": "UPDATE sandbox_checkouts SET notices_due = 0",
        },
        whose="ALL", passes_by="sandbox_checkouts",
    ),
]  # fmt: skip
