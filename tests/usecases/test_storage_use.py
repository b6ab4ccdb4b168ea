"""The storage limit of a merchant's uploads, with concurrent and interrupted operations."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.core.files.storage import SealedFiles, build_upload_key
from dunwell.core.files.store import list_merchants_near_limit, load_storage_use
from dunwell.core.files.upload import PreparedUpload, StorageFull, StorageUse
from dunwell.core.files.uploads import (
    CheckedUpload,
    accept_upload,
    discard_uploads,
    store_unused_file,
)
from dunwell.interfaces.worker.housekeeping import Housekeeping
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import PayloadTooLarge, Unavailable
from dunwell.platform.resources import Resources
from tests.support.merchants import a_merchant

_LIMIT = 1000
_UNUSED = timedelta(hours=1)


class _MerchantFiles:
    """The uploads of one merchant, written and removed as use cases do."""

    def __init__(self, resources: Resources, merchant: Merchant) -> None:
        self._resources, self.merchant = resources, merchant
        self.storage = SealedFiles.open(resources)

    async def put(self, number: int, size_bytes: int, limit_bytes: int = _LIMIT) -> None:
        now = self._resources.clock.now()
        await store_unused_file(
            self._resources.database, self.storage, self.make(number, size_bytes), now,
            expires_at=now + _UNUSED, limit_bytes=limit_bytes,
        )  # fmt: skip

    async def remove(self, *numbers: int) -> None:
        tickets = [UUID(int=number) for number in numbers]
        merchant_id = self.merchant.merchant_id
        await discard_uploads(self._resources.database, self.storage, merchant_id, tickets)

    def make(self, number: int, size_bytes: int) -> CheckedUpload:
        merchant_id, ticket_id = self.merchant.merchant_id, UUID(int=number)
        prepared = PreparedUpload(
            merchant_id, ticket_id, "a", "a.pdf", "application/pdf", size_bytes, b"-",
            build_upload_key(merchant_id, ticket_id),
        )  # fmt: skip
        return CheckedUpload(prepared, b"x")

    async def count(self) -> tuple[int, int]:
        """Return the recorded use and the sum over the rows."""
        async with self._resources.database.connection() as connection:
            merchant_id = self.merchant.merchant_id
            use = await load_storage_use(connection, merchant_id, _LIMIT)
            summed = await connection.fetchval(
                "SELECT coalesce(sum(size_bytes), 0)::bigint FROM uploads WHERE merchant_id = $1",
                merchant_id,
            )
        return use.used_bytes, summed


@pytest.fixture
async def merchant_files(resources: Resources, clock: MovableClock) -> _MerchantFiles:
    async with resources.database.transaction() as tx:
        return _MerchantFiles(resources, await a_merchant(tx, now=clock.now()))


async def test_the_storage_limit_is_exact_to_the_byte(merchant_files: _MerchantFiles) -> None:
    await merchant_files.put(1, 600)
    with pytest.raises(StorageFull) as refused:
        await merchant_files.put(2, 401)
    await merchant_files.put(3, 400)

    assert isinstance(refused.value, PayloadTooLarge)
    assert refused.value.details == {"limit": _LIMIT, "used": 600}
    assert "Delete attachments" in refused.value.message
    assert await merchant_files.count() == (1000, 1000)


@pytest.mark.parametrize("is_begun", [False, True], ids=["the first uploads", "later ones"])
async def test_concurrent_uploads_do_not_exceed_the_storage_limit(
    merchant_files: _MerchantFiles, is_begun: bool
) -> None:
    if is_begun:
        await merchant_files.put(99, 100)
    asked = [merchant_files.put(number, 300) for number in range(1, 11)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)

    assert sum(outcome is None for outcome in outcomes) == 3
    assert all(isinstance(each, StorageFull) for each in outcomes if each is not None)
    used, summed = await merchant_files.count()
    assert used == summed == 900 + 100 * is_begun


async def test_the_storage_use_is_right_after_concurrent_uploads_and_removals(
    merchant_files: _MerchantFiles,
) -> None:
    for number in range(1, 6):
        await merchant_files.put(number, 100)
    asked = [merchant_files.remove(number) for number in range(1, 6)]
    asked += [merchant_files.put(number, 100) for number in range(11, 20)]
    # The same upload is removed by two at once.
    asked += [merchant_files.remove(1, 2, 3)]
    await asyncio.gather(*asked, return_exceptions=True)

    used, summed = await merchant_files.count()
    assert used == summed <= _LIMIT


async def test_an_accepted_upload_counts_once(
    resources: Resources, merchant_files: _MerchantFiles
) -> None:
    await merchant_files.put(1, 600)
    async with resources.database.transaction() as tx:
        work = Work.open(resources, tx, merchant_files.merchant, SYSTEM)
        await accept_upload(work, merchant_files.make(1, 600).prepared)
    assert await merchant_files.count() == (600, 600)


async def test_the_space_of_an_unused_upload_is_free_when_it_is_removed(
    resources: Resources, clock: MovableClock, merchant_files: _MerchantFiles
) -> None:
    await merchant_files.put(1, 900)
    clock.advance(timedelta(hours=3))
    await Housekeeping(resources, merchant_files.storage).run_once()

    assert await merchant_files.count() == (0, 0)
    await merchant_files.put(2, 1000)


class _UnavailableStorage:
    async def save(self, _key: str, _content: bytes) -> None:
        raise Unavailable("away")


async def test_an_upload_that_failed_counts_until_it_is_removed(
    resources: Resources, clock: MovableClock, merchant_files: _MerchantFiles
) -> None:
    there, merchant_files.storage = merchant_files.storage, _UnavailableStorage()  # type: ignore[assignment]
    with pytest.raises(Unavailable):
        await merchant_files.put(1, 900)
    assert await merchant_files.count() == (900, 900)
    clock.advance(timedelta(hours=3))

    await Housekeeping(resources, there).run_once()

    assert await merchant_files.count() == (0, 0)


async def test_uploads_of_another_merchant_do_not_count(
    resources: Resources, clock: MovableClock, merchant_files: _MerchantFiles
) -> None:
    async with resources.database.transaction() as tx:
        other = _MerchantFiles(resources, await a_merchant(tx, "hansen", now=clock.now()))
    await other.put(1, 900)

    await merchant_files.put(2, 300)
    await other.put(3, 100)
    await merchant_files.remove(2)

    assert await other.count() == (1000, 1000)
    assert await merchant_files.count() == (0, 0)


async def test_a_lowered_limit_removes_nothing_and_accepts_nothing(
    merchant_files: _MerchantFiles,
) -> None:
    await merchant_files.put(1, 900)
    with pytest.raises(StorageFull):
        await merchant_files.put(2, 1, limit_bytes=500)
    assert await merchant_files.count() == (900, 900)


async def test_merchants_near_their_limit_are_listed(
    resources: Resources, merchant_files: _MerchantFiles
) -> None:
    await merchant_files.put(1, 800)
    async with resources.database.connection() as connection:
        assert await list_merchants_near_limit(connection, 800, 5) == [
            (merchant_files.merchant.key, 800)
        ]
        assert await list_merchants_near_limit(connection, 801, 5) == []


def test_users_are_warned_from_four_fifths_of_the_limit() -> None:
    near_limit = [StorageUse(used, 1000).is_near_limit for used in (0, 799, 800, 1000, 1200)]
    assert near_limit == [False, False, True, True, True]
    assert [StorageUse(used, 1000).percent for used in (999, 1000)] == [99, 100]
