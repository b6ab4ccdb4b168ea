"""Where a sandbox merchant's clock stands, and what falls due next."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right
from dunwell.sandbox.advance_clock import check_sandbox
from dunwell.sandbox.store import load_agenda


@dataclass(frozen=True, slots=True)
class Clock:
    """`next_at`: none when nothing falls due any more."""

    now: datetime
    next_at: datetime | None


async def read_clock(work: Work) -> Clock:
    """Raises InvalidState for a merchant that is no sandbox."""
    work.need(Right.OPERATE)
    now = check_sandbox(work.merchant)
    return Clock(now, (await load_agenda(work.tx, work.merchant_id)).next_at)
