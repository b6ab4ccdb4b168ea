"""Housekeeping deletes only what is no longer used."""

from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.core.files.storage import ContentMissing, SealedFiles, build_upload_key
from dunwell.interfaces.worker.housekeeping import Housekeeping
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources
from tests.conftest import MONDAY_MORNING
from tests.support.merchants import a_merchant

_USED = """
INSERT INTO storage_use (merchant_id, used_bytes) VALUES ($1, 4)
ON CONFLICT (merchant_id) DO UPDATE SET used_bytes = storage_use.used_bytes + 4
"""
_UPLOAD = """
INSERT INTO uploads
    (merchant_id, ticket_id, friendly_name, file_name, content_type, size_bytes, sha256,
     storage_key, created_at, expires_at)
VALUES ($1, $2, 'Invoice', 'i.pdf', 'application/pdf', 4, 'x', $3, $4::timestamptz,
    $4::timestamptz + interval '7 days')
"""
_CLAIM = """
INSERT INTO claims (merchant_id, reference_number, currency, created_at, updated_at)
VALUES ($1, 'R-1', 'EUR', $2, $2)
RETURNING claim_id
"""
_ATTACH = """
INSERT INTO attachments (merchant_id, claim_id, attachment_id, ticket_id, position, created_at)
VALUES ($1, $2, $3, $3, 0, $4)
"""
USED, UNUSED = UUID(int=1), UUID(int=2)


@pytest.fixture
def storage(resources: Resources) -> SealedFiles:
    return SealedFiles.open(resources)


async def an_upload(
    tx: Connection, storage: SealedFiles, merchant_id: int, ticket_id: UUID
) -> None:
    key = build_upload_key(merchant_id, ticket_id)
    await storage.save(key, b"%PDF")
    await tx.execute(_USED, merchant_id)
    await tx.execute(_UPLOAD, merchant_id, ticket_id, key, MONDAY_MORNING)


async def load_tickets(resources: Resources) -> list[UUID]:
    async with resources.database.connection() as connection:
        rows = await connection.fetch("SELECT ticket_id FROM uploads ORDER BY ticket_id")
    return [row["ticket_id"] for row in rows]


async def test_only_unused_uploads_are_deleted_with_their_content(
    resources: Resources, clock: MovableClock, storage: SealedFiles
) -> None:
    async with resources.database.transaction() as tx:
        merchant_id = (await a_merchant(tx, now=MONDAY_MORNING)).merchant_id
        for ticket_id in (USED, UNUSED):
            await an_upload(tx, storage, merchant_id, ticket_id)
        claim_id = await tx.fetchval(_CLAIM, merchant_id, MONDAY_MORNING)
        await tx.execute(_ATTACH, merchant_id, claim_id, USED, MONDAY_MORNING)
    housekeeping = Housekeeping(resources, storage)
    assert await housekeeping.run_once() == 0
    clock.advance(timedelta(days=7, hours=2))
    assert await housekeeping.run_once() == 1
    assert await load_tickets(resources) == [USED]
    assert await storage.load(build_upload_key(merchant_id, USED)) == b"%PDF"
    with pytest.raises(ContentMissing):
        await storage.load(build_upload_key(merchant_id, UNUSED))
    assert await housekeeping.run_once() == 0


async def test_uploads_are_kept_while_the_sandbox_clock_stands_still(
    resources: Resources, clock: MovableClock, storage: SealedFiles
) -> None:
    async with resources.database.transaction() as tx:
        merchant = await a_merchant(tx, now=MONDAY_MORNING, sandbox=True)
        await an_upload(tx, storage, merchant.merchant_id, UNUSED)
    clock.advance(timedelta(days=30))
    assert await Housekeeping(resources, storage).run_once() == 0
    assert await load_tickets(resources) == [UNUSED]


async def test_an_interrupted_removal_is_completed(
    resources: Resources, clock: MovableClock, storage: SealedFiles
) -> None:
    async with resources.database.transaction() as tx:
        merchant = await a_merchant(tx, now=MONDAY_MORNING)
        await an_upload(tx, storage, merchant.merchant_id, UNUSED)
    await storage.remove(build_upload_key(merchant.merchant_id, UNUSED))
    clock.advance(timedelta(days=8))
    assert await Housekeeping(resources, storage).run_once() == 1
    assert await load_tickets(resources) == []
