"""The statements that move messages with delivery reports."""

from dunwell.contact.escalation.reports import store as reports_store
from tests.support.rows import NOW
from tests.support.two_claims import LONG_AGO, UUIDS, MovingStatement

_ACCEPTED = {"state": "ACCEPTED", "run": 0, "planned_at": LONG_AGO}
MOVES_OF_REPORTS = [
    MovingStatement(
        reports_store._SAVE_DELIVERIES, ([1, 1], UUIDS, NOW), {"communications": _ACCEPTED},
        "communications", "communication_id",
        {
            "not accepted": "UPDATE communications SET state = 'UNKNOWN'",
            "noted before": f"UPDATE communications SET delivered_at = '{LONG_AGO.isoformat()}'",
        },
    ),
]  # fmt: skip
