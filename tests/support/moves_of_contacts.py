"""The statements of the engine, the dispatcher and the recording of results that move claims and
their contacts, each with every reason why a row must not move."""

from datetime import timedelta

from dunwell.contact.escalation import store as escalation_store
from dunwell.contact.escalation.contacts import store as contacts_store
from dunwell.contact.escalation.contacts.outcomes import store as outcomes_store
from tests.support.rows import NOW
from tests.support.two_claims import (
    FIRST,
    IDS,
    JUST_LATER,
    LATER,
    LEASE,
    LONG_AGO,
    OTHER_LEASE,
    UNTIL,
    UUIDS,
    MovingStatement,
    Rows,
    ValueQuery,
)

_EMAIL, _SMS = "EMAIL", "SMS"
_PROCESS = {"workflow_id": UUIDS[0], "workflow_major": 1, "status": "IN_PROCESS"}
DUE: Rows = {"claims": {**_PROCESS, "due_at": NOW}}
PLANNED: Rows = {
    "claims": {**_PROCESS, "updated_at": LONG_AGO},
    "debtors": {"claim_id": IDS},
    "communications": {"run": 0, "not_before": NOW, "planned_at": LONG_AGO},
    "communication_contents": {},
}
_HANDED_OVER: Rows = {
    **PLANNED,
    "communications": {
        **PLANNED["communications"], "state": "HANDED_OVER", "lease_until": NOW, "attempts": 1,
        "handed_over_at": LONG_AGO,
    },
}  # fmt: skip


def _leased(state: str) -> Rows:
    contact = {**PLANNED["communications"], "state": state, "lease_id": LEASE}
    return {**PLANNED, "communications": contact}


_CLAIM_HELD = {"held": "UPDATE claims SET held = true"}
_NOT_DUE = {
    **_CLAIM_HELD,
    "not due": f"UPDATE claims SET due_at = {JUST_LATER}",
    "nothing to do": "UPDATE claims SET due_at = NULL",
}
_ITS_CLOCK = (
    f"UPDATE merchants SET sandbox = true, sandbox_now = '{(NOW - timedelta(hours=1)).isoformat()}'"
)
_UNLEASED = {
    **_CLAIM_HELD,
    "not yet": f"UPDATE communications SET not_before = {JUST_LATER}",
    "leased": f"UPDATE communications SET lease_until = {JUST_LATER}",
    "handed over": "UPDATE communications SET state = 'HANDED_OVER', lease_until = 'infinity'",
    "sent": "UPDATE communications SET state = 'ACCEPTED'",
    "cancelled": "UPDATE communications SET state = 'CANCELLED'",
    "in doubt": "UPDATE communications SET state = 'UNKNOWN'",
}
_ENDED = {
    "ended": "UPDATE claims SET status = 'WITHDRAWN'",
    "assigned anew": "UPDATE claims SET run = 1",
}
_CHANGED_SINCE = (
    f"UPDATE claims SET updated_at = '{(LONG_AGO + timedelta(microseconds=1)).isoformat()}'"
)
_ANOTHERS = {"another's lease": f"UPDATE communications SET lease_id = '{OTHER_LEASE}'"}
_SETTLED = {
    f"is {state}": f"UPDATE communications SET state = '{state}'"
    for state in ("ACCEPTED", "FAILED", "CANCELLED", "UNKNOWN")
}
_GONE = {**_SETTLED, "is HANDED_OVER": "UPDATE communications SET state = 'HANDED_OVER'"}
_STILL_LEASED = {"leased": f"UPDATE communications SET lease_until = {JUST_LATER}"}
_VERSIONS = ValueQuery(
    "SELECT array_agg(xmin::text::bigint ORDER BY claim_id) FROM claims"
    f" WHERE merchant_id = {FIRST}"
)

MOVES_OF_CLAIMS = [
    MovingStatement(
        escalation_store._LOCK_SET, (FIRST, NOW, 10, None), DUE, "claims", "claim_id", _NOT_DUE,
        answers="claim_id", passes_by="claims",
    ),
    MovingStatement(
        escalation_store._LIST_DUE, (FIRST, NOW, 10), DUE, "claims", "claim_id", _NOT_DUE,
        answers="claim_id",
    ),
    MovingStatement(
        escalation_store._LIST_MERCHANTS, (NOW, 0, 10), DUE, "claims", "claim_id",
        {**_NOT_DUE, "its clock stands before": _ITS_CLOCK},
        answers="merchant_id", whose="MERCHANTS",
    ),
    MovingStatement(
        escalation_store._POSTPONE, (FIRST, IDS, NOW), DUE, "claims", "claim_id",
        {"nothing to do": "UPDATE claims SET due_at = NULL"},
    ),
]  # fmt: skip

MOVES_OF_CONTACTS = [
    MovingStatement(
        contacts_store._LEASE, (FIRST, NOW, NOW, LEASE, UNTIL, 10, _EMAIL), PLANNED,
        "communications", "claim_id",
        {**_UNLEASED, "another channel": "UPDATE communications SET channel = 'SMS'"},
        passes_by="communications",
    ),
    MovingStatement(
        contacts_store._LEASE, (FIRST, NOW, NOW, LEASE, UNTIL, 10, _EMAIL),
        _leased("ATTACHMENT_MISSING"), "communications", "claim_id", _UNLEASED,
        case="without its attachment",
    ),
    MovingStatement(
        contacts_store._LIST_CHANNELS, (NOW, 0, _EMAIL, [_EMAIL], [], [], 10), PLANNED,
        "communications", "claim_id",
        {**_UNLEASED, "its clock stands before": _ITS_CLOCK},
        answers="merchant_id", whose="MERCHANTS",
    ),
    MovingStatement(
        contacts_store._LIST_CHANNELS, (NOW, 0, _EMAIL, [_EMAIL], [], [], 10), _HANDED_OVER,
        "communications",
        "claim_id", {**_STILL_LEASED, **_SETTLED},
        answers="merchant_id", whose="MERCHANTS", case="broken off",
    ),
    MovingStatement(
        contacts_store._RELEASE, (FIRST, LEASE, UUIDS, [UNTIL] * 2, ["GUARD_DAY"] * 2),
        _leased("PLANNED"), "communications", "claim_id", {**_ANOTHERS, **_GONE},
    ),
    MovingStatement(
        contacts_store._AWAIT_ATTACHMENT, (FIRST, LEASE, UUIDS, UNTIL, IDS, _VERSIONS),
        _leased("PLANNED"), "communications", "claim_id", {**_ANOTHERS, **_GONE},
        since={"changed since": "UPDATE claims SET event_sequence = 9"},
        becomes="state = 'ATTACHMENT_MISSING'", passes_by="claims",
    ),
    MovingStatement(
        contacts_store._RESUME, (FIRST, NOW, LEASE, UNTIL, _EMAIL, 10), _HANDED_OVER,
        "communications", "claim_id",
        {
            **_CLAIM_HELD, **_ENDED, **_STILL_LEASED, **_SETTLED, "changed since": _CHANGED_SINCE,
            "by another channel": "UPDATE communications SET channel = 'SMS'",
        },
        passes_by="communications",
    ),
    MovingStatement(
        contacts_store._MARK_UNKNOWN, (FIRST, NOW, _EMAIL, False, 10), _HANDED_OVER,
        "communications",
        "claim_id",
        {
            **_STILL_LEASED, **_SETTLED,
            "by another one": "UPDATE communications SET channel = 'SMS'",
        },
        passes_by="communications",
    ),
    *(
        MovingStatement(
            contacts_store._MARK_UNKNOWN, (FIRST, NOW, _EMAIL, True, 10),
            {**_HANDED_OVER, "claims": {**PLANNED["claims"], **changed}}, "communications",
            "claim_id", {"as it was": f"UPDATE claims SET {back}"}, case=case,
            passes_by="communications",
        )
        for case, changed, back in (
            ("held", {"held": True}, "held = false"),
            ("ended", {"status": "WITHDRAWN"}, "status = 'IN_PROCESS'"),
            ("assigned anew", {"run": 1}, "run = 0"),
            ("changed since", {"updated_at": NOW}, f"updated_at = '{LONG_AGO.isoformat()}'"),
        )
    ),
    MovingStatement(
        contacts_store._RENEW, (FIRST, UUIDS, LEASE, UNTIL), _leased("HANDED_OVER"),
        "communications", "claim_id", _ANOTHERS, passes_by="communications",
    ),
    MovingStatement(
        contacts_store._LOCK,
        (FIRST, LEASE, UUIDS, _VERSIONS, ["{}"] * 2, ["{}"] * 2),
        _leased("PLANNED"), "communications", "claim_id",
        {**_ANOTHERS, **_GONE, **_ENDED, **_CLAIM_HELD}, answers="communication_id",
        since={"changed since": "UPDATE claims SET event_sequence = 9"},
    ),
    MovingStatement(
        outcomes_store._LOCK_ANSWERED, (FIRST, UUIDS, LEASE),
        _leased("HANDED_OVER"),
        "communications", "claim_id", {**_ANOTHERS, **_SETTLED}, answers="communication_id",
    ),
    MovingStatement(
        escalation_store._CANCEL, (FIRST, IDS, LATER, "paid"),
        _leased("PLANNED"),
        "communications", "claim_id",
        {why: change for why, change in _GONE.items() if why != "is CANCELLED"},
    ),
]  # fmt: skip
