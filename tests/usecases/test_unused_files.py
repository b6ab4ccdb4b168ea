"""An unused stored file is deleted in time, whenever the process died."""

from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.upload import NewUpload
from dunwell.core.files.uploads import check_upload, discard_uploads, store_unused_file
from dunwell.interfaces.worker.housekeeping import Housekeeping
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources
from tests.support.children import INSPECTOR
from tests.support.files import a_pdf
from tests.support.merchants import a_merchant

_TICKET = UUID(int=7)
_HOUR = timedelta(hours=1)
_TICKETS = "SELECT ticket_id FROM uploads"


class DeathPoint(Enum):
    """The point at which the process dies."""

    BEFORE_CONTENT = "the row is there, the content is not"
    AFTER_CONTENT = "the content is there, and nothing uses it"
    BETWEEN_REMOVALS = "the content is gone, the row is not"


class ProcessDied(BaseException):
    """The process is dead: nothing more is done, not even cleaning up."""


class DyingStorage:
    """A storage whose process dies at a given point."""

    def __init__(self, storage: SealedFiles, point: DeathPoint) -> None:
        self._storage = storage
        self._point = point

    async def save(self, key: str, content: bytes) -> None:
        if self._point is DeathPoint.BEFORE_CONTENT:
            raise ProcessDied
        await self._storage.save(key, content)
        if self._point is DeathPoint.AFTER_CONTENT:
            raise ProcessDied

    async def remove(self, key: str) -> None:
        await self._storage.remove(key)
        raise ProcessDied


class UnavailableStorage(DyingStorage):
    """A storage that is unavailable although the content may have been written."""

    async def save(self, key: str, content: bytes) -> None:
        await self._storage.save(key, content)
        raise Unavailable("away")


@pytest.fixture
def storage(resources: Resources) -> SealedFiles:
    return SealedFiles.open(resources)


@pytest.fixture
async def merchant_id(resources: Resources, clock: MovableClock) -> int:
    async with resources.database.transaction() as tx:
        return (await a_merchant(tx, now=clock.now())).merchant_id


@pytest.fixture
def inspector() -> Inspector:
    return INSPECTOR


async def _upload(
    resources: Resources, storage: SealedFiles, inspector: Inspector, merchant_id: int
) -> None:
    upload = NewUpload("a.pdf", "a.pdf", a_pdf())
    checked = await check_upload(inspector, merchant_id, _TICKET, upload)
    now = resources.clock.now()
    await store_unused_file(
        resources.database, storage, checked, now, expires_at=now + _HOUR, limit_bytes=1024**3
    )


async def _upload_until_death(
    resources: Resources, storage: DyingStorage, inspector: Inspector, merchant_id: int
) -> None:
    """Store a file and discard it, until the process dies."""
    mortal: Any = storage
    try:
        await _upload(resources, mortal, inspector, merchant_id)
        await discard_uploads(resources.database, mortal, merchant_id, [_TICKET])
    except ProcessDied:
        return
    raise AssertionError("it was to die")


def _contents(resources: Resources) -> list[Path]:
    folder = Path(urlsplit(resources.settings.files_url).path)
    return [path for path in folder.rglob("*") if path.is_file()]


async def _count_rows(resources: Resources) -> int:
    async with resources.database.connection() as connection:
        return len(await connection.fetch(_TICKETS))


@pytest.mark.parametrize("point", list(DeathPoint), ids=lambda point: point.value)
async def test_files_left_by_a_dead_process_are_removed(
    resources: Resources, clock: MovableClock, storage: SealedFiles, merchant_id: int,
    inspector: Inspector, point: DeathPoint,
) -> None:  # fmt: skip
    await _upload_until_death(resources, DyingStorage(storage, point), inspector, merchant_id)
    left = (await _count_rows(resources), len(_contents(resources)))
    housekeeping = Housekeeping(resources, storage)
    clock.advance(timedelta(hours=1, minutes=59))
    assert await housekeeping.run_once() == 0

    clock.advance(timedelta(minutes=2))
    await housekeeping.run_once()

    assert left == (1, 1 if point is DeathPoint.AFTER_CONTENT else 0)
    assert (await _count_rows(resources), _contents(resources)) == (0, [])


async def test_content_written_despite_a_storage_error_is_removed(
    resources: Resources, clock: MovableClock, storage: SealedFiles, merchant_id: int,
    inspector: Inspector,
) -> None:  # fmt: skip
    absent: Any = UnavailableStorage(storage, DeathPoint.AFTER_CONTENT)
    with pytest.raises(Unavailable):
        await _upload(resources, absent, inspector, merchant_id)
    assert len(_contents(resources)) == 1
    clock.advance(timedelta(hours=3))

    await Housekeeping(resources, storage).run_once()

    assert (await _count_rows(resources), _contents(resources)) == (0, [])


async def test_discarded_uploads_are_deleted_at_once(
    resources: Resources, storage: SealedFiles, merchant_id: int, inspector: Inspector
) -> None:
    await _upload(resources, storage, inspector, merchant_id)
    assert (await _count_rows(resources), len(_contents(resources))) == (1, 1)

    await discard_uploads(resources.database, storage, merchant_id, [_TICKET])

    assert (await _count_rows(resources), _contents(resources)) == (0, [])
