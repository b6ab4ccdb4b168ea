"""Whether a claim is still as somebody saw it who wants to change it.

A form bears the instant of the claim's last change that its page showed. What was changed since by
somebody else is told instead of being overwritten.
"""

from datetime import UTC, datetime, timedelta

from dunwell.claims.access import access_claim
from dunwell.errors import InvalidState
from dunwell.merchants.account import Work

# By primary key.
_LOAD = "SELECT updated_at FROM claims WHERE merchant_id = $1 AND claim_id = $2"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class ChangedMeanwhile(InvalidState):
    """Somebody else was faster. since: the claim's last change that was seen."""

    def __init__(self, since: datetime) -> None:
        super().__init__("The claim was changed since it was looked at.", state="CHANGED")
        self.since = since


async def check_unchanged(work: Work, claim_id: int, seen: str) -> None:
    """seen: `render_seen` of the instant that was shown. The claim stays locked. Raises NotFound
    and ChangedMeanwhile."""
    await access_claim(work, claim_id)
    updated_at = await work.tx.fetchval(_LOAD, work.merchant_id, claim_id)
    if render_seen(updated_at) != seen:
        raise ChangedMeanwhile(_read_seen(seen))


def render_seen(updated_at: datetime) -> str:
    """In microseconds, as a form bears it."""
    return str((updated_at - _EPOCH) // _MICROSECOND)


def _read_seen(seen: str) -> datetime:
    """The beginning of time for what is none."""
    is_sound = seen.isascii() and seen.isdigit() and len(seen) <= 17
    return _EPOCH + _MICROSECOND * (int(seen) if is_sound else 0)
