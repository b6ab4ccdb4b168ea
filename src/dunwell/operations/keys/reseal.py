"""Encrypt stored values again with the current version of the secret key, in small parts. The
worker runs this.

After each start of a worker, and periodically, it processes every kind of value from the first row
to the last, because other processes may have used an older version for a while. If a worker stops,
nothing is lost: each value names the version that encrypted it.
"""

import time
from collections.abc import Sequence

import structlog

from dunwell.core.files.storage import Storage
from dunwell.operations.keys.sealed_columns import SEALED_COLUMNS, RowKey, SealedValues
from dunwell.operations.keys.sealed_files import SealedLetters, SealedUploads
from dunwell.platform.config import Settings
from dunwell.platform.resources import Resources

RESEAL_IDLE_SECONDS = 5.0
# The delay between two passes.
_SECONDS_BETWEEN_PASSES = 600.0

log = structlog.get_logger(__name__)


def list_sealed_values(settings: Settings) -> Sequence[SealedValues]:
    """Return all kinds of sealed values. If a kind is missing here, its values become unreadable
    when the key version that sealed them is retired."""
    return [*SEALED_COLUMNS, SealedLetters(Storage.open(settings.files_url)), SealedUploads()]


class Resealer:
    """Runs the passes over all sealed values for one worker."""

    def __init__(
        self,
        resources: Resources,
        kinds: Sequence[SealedValues],
        *,
        rest_seconds: float = _SECONDS_BETWEEN_PASSES,
    ) -> None:
        self._resources = resources
        self._rest_seconds = rest_seconds
        # The last processed row of each kind, and the number of values resealed in this pass. A
        # kind without an entry is finished.
        self._positions: dict[SealedValues, tuple[RowKey, int]] = {}
        self._kinds = kinds
        self._next_pass_at = 0.0

    async def run_once(self) -> int:
        """Process one part of each kind, and return how many kinds are not complete. With a single
        key version there is nothing to reseal."""
        if len(self._resources.keys.versions) == 1:
            return 0
        if not self._positions:
            if time.monotonic() < self._next_pass_at:
                return 0
            self._positions = {kind: (kind.beginning, 0) for kind in self._kinds}
        for kind in self._kinds:
            if kind in self._positions:
                await self._reseal_next_part(kind)
        if not self._positions:
            self._next_pass_at = time.monotonic() + self._rest_seconds
        return len(self._positions)

    async def _reseal_next_part(self, kind: SealedValues) -> None:
        after, resealed = self._positions[kind]
        part = await kind.reseal(self._resources.database, self._resources.keys, after)
        resealed += part.resealed
        if part.last is not None:
            self._positions[kind] = part.last, resealed
            return
        del self._positions[kind]
        if resealed:
            log.info("resealed", type=kind.name, count=resealed)
