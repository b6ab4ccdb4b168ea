"""An upload: checked in a child process, stored, and recorded with its ticket."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.core.files.cleaning import clean_file
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import ContentMissing, SealedFiles, build_upload_key
from dunwell.core.files.store import load_usable_tickets
from dunwell.core.files.upload import MAX_FILE_BYTES, NewUpload, PreparedUpload
from dunwell.core.files.uploads import accept_upload
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import PayloadTooLarge, UnsupportedMediaType, ValidationError
from dunwell.platform.resources import Resources
from tests.support.files import a_pdf, an_image
from tests.support.merchants import a_merchant
from tests.support.uploads import prepare_upload

_TICKET = UUID("01900000-0000-7000-8000-000000000001")
_PDF = clean_file(a_pdf()).content


@pytest.fixture
async def inspector() -> AsyncIterator[Inspector]:
    inspector = Inspector(1)
    yield inspector
    await inspector.close()


@pytest.fixture
def storage(resources: Resources) -> SealedFiles:
    return SealedFiles.open(resources)


async def _work(resources: Resources, tx: Connection, key: str = "nordwind") -> Work:
    merchant = await a_merchant(tx, key, now=resources.clock.now())
    return Work.open(resources, tx, merchant, SYSTEM)


def _prepared(work: Work, ticket_id: UUID = _TICKET) -> PreparedUpload:
    return PreparedUpload(
        work.merchant_id, ticket_id, "Your invoice", "RE-1.pdf", "application/pdf", len(_PDF),
        hashlib.sha256(_PDF).digest(), build_upload_key(work.merchant_id, ticket_id),
    )  # fmt: skip


async def test_a_checked_file_is_stored_under_ids_only(
    storage: SealedFiles, inspector: Inspector, resources: Resources
) -> None:
    upload = NewUpload("Your invoice", "../../etc/RE 1.pdf", _PDF)
    prepared = await prepare_upload(storage, inspector, 7, _TICKET, upload)
    assert prepared == PreparedUpload(
        7, _TICKET, "Your invoice", "../../etc/RE 1.pdf", "application/pdf", len(_PDF),
        hashlib.sha256(_PDF).digest(), f"7/uploads/{_TICKET}",
    )  # fmt: skip
    assert await storage.load(prepared.storage_key) == _PDF
    kept = [p for p in (resources.settings.data_dir / "files").rglob("*") if p.is_file()]
    assert [str(p.relative_to(resources.settings.data_dir)) for p in kept] == [
        f"files/7/uploads/{_TICKET}"
    ]
    assert b"%PDF" not in kept[0].read_bytes()


@pytest.mark.parametrize(
    ("upload", "refusal"),
    [
        (NewUpload("", "a.pdf", _PDF), ValidationError),
        (NewUpload("a", "a.pdf", b""), ValidationError),
        (NewUpload("a", "a.pdf", _PDF + bytes(MAX_FILE_BYTES)), PayloadTooLarge),
        (NewUpload("a", "a.pdf", b"<html>"), UnsupportedMediaType),
        (NewUpload("a", "a.pdf", an_image("PNG")), UnsupportedMediaType),
    ],
)
async def test_a_refused_file_stores_nothing(
    storage: SealedFiles,
    inspector: Inspector,
    resources: Resources,
    upload: NewUpload,
    refusal: type[Exception],
) -> None:
    with pytest.raises(refusal):
        await prepare_upload(storage, inspector, 7, _TICKET, upload)
    assert not [p for p in (resources.settings.data_dir / "files").rglob("*") if p.is_file()]


async def test_every_fault_of_the_form_is_reported_at_once(
    storage: SealedFiles, inspector: Inspector
) -> None:
    with pytest.raises(ValidationError) as caught:
        await prepare_upload(storage, inspector, 7, _TICKET, NewUpload("", "a\nb", b""))
    found = [(fault.path, fault.code) for fault in caught.value.faults]
    assert found == [
        ("/friendlyName", "REQUIRED"),
        ("/fileName", "CONTROL_CHARACTER"),
        ("/fileName", "EMPTY_FILE"),
    ]


async def test_an_accepted_upload_has_a_row_and_an_audit_row(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await _work(resources, tx)
        assert await accept_upload(work, _prepared(work)) == _TICKET
        row: Any = dict(await tx.fetchrow("SELECT * FROM uploads"))
        audit: Any = await tx.fetchrow("SELECT action, subject, details FROM audit_log")
    assert row == {
        "merchant_id": work.merchant_id, "ticket_id": _TICKET, "friendly_name": "Your invoice",
        "file_name": "RE-1.pdf", "content_type": "application/pdf", "size_bytes": len(_PDF),
        "sha256": hashlib.sha256(_PDF).digest(), "created_at": work.now,
        "storage_key": f"{work.merchant_id}/uploads/{_TICKET}",
        "expires_at": work.now + timedelta(days=7),
    }  # fmt: skip
    assert tuple(audit) == (
        "upload.accept", f"ticket:{_TICKET}",
        {"contentType": "application/pdf", "sizeBytes": len(_PDF)},
    )  # fmt: skip


async def test_a_ticket_is_usable_by_its_merchant_for_seven_days(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work, other = await _work(resources, tx), await _work(resources, tx, "hansen")
        await accept_upload(work, _prepared(work))
        wanted = [_TICKET, UUID(int=5)]
        at = work.now + timedelta(days=7)
        usable = [
            await load_usable_tickets(tx, merchant_id, wanted, now)
            for merchant_id, now in (
                (work.merchant_id, at - timedelta(seconds=1)),
                (work.merchant_id, at),
                (other.merchant_id, work.now),
            )
        ]
    assert usable == [{_TICKET}, set(), set()]


async def test_a_used_ticket_stays_usable(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await _work(resources, tx)
        await accept_upload(work, _prepared(work))
        claim_id = await tx.fetchval(
            "INSERT INTO claims (merchant_id, reference_number, currency, created_at, updated_at)"
            " VALUES ($1, 'R-1', 'EUR', $2, $2) RETURNING claim_id",
            work.merchant_id, work.now,
        )  # fmt: skip
        await tx.execute(
            "INSERT INTO attachments VALUES ($1, $2, $3, $4, 0, $5)",
            work.merchant_id, claim_id, UUID(int=9), _TICKET, work.now,
        )  # fmt: skip
        later = work.now + timedelta(days=400)
        assert await load_usable_tickets(tx, work.merchant_id, [_TICKET], later) == {_TICKET}


async def test_an_upload_of_another_merchant_is_never_recorded(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await _work(resources, tx)
        foreign = replace(_prepared(work), merchant_id=work.merchant_id + 1)
        with pytest.raises(AssertionError):
            await accept_upload(work, foreign)
        assert await tx.fetchval("SELECT count(*) FROM uploads") == 0


async def test_missing_content_is_reported_and_can_be_removed(storage: SealedFiles) -> None:
    await storage.save("1/uploads/x", b"x")
    await storage.remove("1/uploads/x")
    await storage.remove("1/uploads/x")
    with pytest.raises(ContentMissing):
        await storage.load("1/uploads/x")
