"""Delete outdated rows and files, and store the spans of events (decision 0009), a limited number
of rows at a time in small transactions. The packages that own the rows decide what is outdated."""

from datetime import UTC, datetime

from dunwell.accounts.merchants.store import sweep_merchant_rows
from dunwell.accounts.users.sweep_users import sweep_user_rows
from dunwell.core.events.store import save_spans
from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.uploads import GRACE, UPLOADS_AT_ONCE, remove_unused_uploads
from dunwell.platform.resources import Resources

HOUSEKEEPING_SECONDS = 60.0


class Housekeeping:
    """The sweeps of one worker."""

    def __init__(self, resources: Resources, storage: SealedFiles) -> None:
        self._resources = resources
        self._storage = storage
        # Only uploads since this time are checked. Uploads in use are kept, so older uploads are
        # checked once per process instead of every minute.
        self._uploads_since = datetime(1970, 1, 1, tzinfo=UTC)

    async def run_once(self) -> int:
        """Run one limited sweep of each kind. Return the number of rows that were written or
        deleted, plus the number of files that were deleted."""
        spans = await self._save_spans()
        swept = await self._sweep_rows() + await sweep_user_rows(self._resources)
        return spans + swept + await self._sweep_uploads()

    async def _save_spans(self) -> int:
        async with self._resources.database.transaction() as tx:
            return await save_spans(tx)

    async def _sweep_rows(self) -> int:
        async with self._resources.database.transaction() as tx:
            return await sweep_merchant_rows(tx, self._resources.clock.now())

    async def _sweep_uploads(self) -> int:
        until = self._resources.clock.now() - GRACE
        removed = await remove_unused_uploads(self._resources, self._storage, self._uploads_since)
        if removed < UPLOADS_AT_ONCE:
            self._uploads_since = until
        return removed
