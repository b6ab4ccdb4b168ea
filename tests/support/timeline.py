"""The history of a claim as lines with dates in Berlin: contacts, fees, checkpoints and skipped
steps."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from dunwell.operations.sandbox.store import load_due_times
from tests.support.harness import Harness

_BERLIN = ZoneInfo("Europe/Berlin")
_EVENTS = """
SELECT occurred_at AS at, sequence, body FROM events WHERE merchant_id = $1 AND claim_id = $2
ORDER BY sequence
"""
# Steps that raised no event.
_SILENT = """
SELECT at, step_id, outcome, reason FROM step_history
WHERE merchant_id = $1 AND claim_id = $2 AND outcome <> 'DONE'
ORDER BY at, step_id
"""


async def list_timeline(harness: Harness, claim_id: int) -> list[str]:
    """Return lines such as `Mon 02 Mar 10:00 EMAIL`, `Mon 09 Mar 10:00 fee 250` and `... step 3
    SKIPPED reason`."""
    lines = [
        (row["at"], 0, row["sequence"], _describe(msgspec.json.decode(row["body"])))
        for row in await harness.rows(_EVENTS, claim_id)
    ]
    lines += [
        (row["at"], 1, row["step_id"], f"step {row['step_id']} {row['outcome']} {row['reason']}")
        for row in await harness.rows(_SILENT, claim_id)
    ]
    return [f"{at.astimezone(_BERLIN):%a %d %b %H:%M} {text}" for at, *_, text in sorted(lines)]


async def run_until_local_time(harness: Harness, local: str) -> None:
    """Advance the clock from one due instant to the next and run everything that is due, until a
    local time in Berlin."""
    end = berlin(local)
    while True:
        await harness.run()
        async with harness.resources.database.connection() as connection:
            following = (await load_due_times(connection, harness.merchant.merchant_id)).next_at
        if following is None or following > end:
            break
        harness.clock.move_to(max(following, harness.clock.now()))
    harness.clock.move_to(end)


def berlin(local: str) -> datetime:
    return datetime.fromisoformat(local).replace(tzinfo=_BERLIN)


def _describe(event: dict[str, Any]) -> str:
    claim = event["claim"]
    match event["type"]:
        case "ESCALATED":
            return str(claim["communication"]["channel"])
        case "FEE_ADDED":
            return f"fee {claim['fee']['value']}"
        case "CHECKPOINT_REACHED":
            return f"checkpoint {claim['details']['message']}"
        case other:
            return str(other).lower()
