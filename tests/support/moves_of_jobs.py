"""The statements that move jobs, each with every reason why a job must not move."""

from dunwell.operations.jobs import store as jobs_store
from tests.support.rows import NOW
from tests.support.two_claims import (
    FIRST,
    JUST_LATER,
    LEASE,
    OTHER_LEASE,
    UNTIL,
    UUIDS,
    MovingStatement,
)

_WAITING = {"kind": "PAUSE", "state": "WAITING", "due_at": NOW, "actor_rights": [[], []]}
_RUNNING = {**_WAITING, "state": "RUNNING", "lease_id": LEASE}
_ENDED = {
    **_WAITING, "state": "DONE", "due_at": None, "ended_at": NOW, "kept_until": NOW,
}  # fmt: skip
_HAS_ENDED = (
    f"UPDATE jobs SET state = 'CANCELLED', due_at = NULL, ended_at = '{NOW.isoformat()}',"
    f" kept_until = '{NOW.isoformat()}'"
)
_NOT_OURS = {"another's lease": f"UPDATE jobs SET lease_id = '{OTHER_LEASE}'"}

MOVES_OF_JOBS = [
    MovingStatement(
        jobs_store._LEASE, (NOW, UNTIL, LEASE, ["PAUSE"], 10), {"jobs": _WAITING},
        "jobs", "job_id",
        {
            "not due": f"UPDATE jobs SET due_at = {JUST_LATER}",
            "ended": _HAS_ENDED,
            "an export": "UPDATE jobs SET kind = 'EXPORT'",
        },
        whose="ALL", passes_by="jobs",
    ),
    MovingStatement(
        jobs_store._LOCK_LEASED, (FIRST, UUIDS[1], LEASE), {"jobs": _RUNNING},
        "jobs", "job_id",
        {**_NOT_OURS, "cancelled": _HAS_ENDED}, answers="job_id", whose="SECOND",
    ),
    *(
        MovingStatement(
            statement, (FIRST, UUIDS[1], LEASE, UNTIL, *progress), {"jobs": _RUNNING}, "jobs",
            "job_id", _NOT_OURS, whose="SECOND",
        )
        for statement, progress in (
            (jobs_store._RELEASE, ()), (jobs_store._RENEW, (5, 7)),
        )
    ),
    MovingStatement(
        jobs_store._LIST_EXPIRED, (NOW, 10), {"jobs": _ENDED}, "jobs", "job_id",
        {"not old enough": f"UPDATE jobs SET kept_until = {JUST_LATER}"}, answers="job_id",
        whose="ALL",
    ),
]  # fmt: skip
