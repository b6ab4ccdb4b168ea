"""Uploads and, in production, the outbox are stored encrypted in every kind of storage."""

import dataclasses
from pathlib import Path

import pytest
from obstore.store import LocalStore, MemoryStore, ObjectStore

from dunwell.adapters.channels.outbox.folder import OutboxFolder, list_marks
from dunwell.adapters.installed import build_channel_adapters
from dunwell.contact.sending.channel import Accepted
from dunwell.core.files.storage import SEALED_HEAD, SealedFiles, Storage
from dunwell.core.files.upload import ALLOWED_TYPES
from dunwell.platform.config import Settings, load_settings
from dunwell.platform.crypto import DecryptionFailed, KeyRing
from tests.support.files import a_pdf, an_image
from tests.support.messages import a_message

_KEYS = KeyRing({1: b"k" * 32})
_FILES = [a_pdf(), *(an_image(kind) for kind in ("JPEG", "PNG", "WEBP"))]


@pytest.fixture(params=["folder", "object store"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return LocalStore(tmp_path) if request.param == "folder" else MemoryStore()


async def test_an_upload_is_stored_encrypted_and_read_unchanged(store: ObjectStore) -> None:
    files, raw = SealedFiles(Storage(store), _KEYS), Storage(store)
    for number, content in enumerate(_FILES):
        await files.save(f"7/uploads/{number}", content)
        kept = await raw.load(f"7/uploads/{number}")
        assert content[:5] not in kept
        assert content[-9:] not in kept
        assert await files.load(f"7/uploads/{number}") == content


async def test_a_file_that_was_stored_unencrypted_is_readable(store: ObjectStore) -> None:
    assert len(_FILES) == len(ALLOWED_TYPES)
    for content in _FILES:
        assert not content.startswith(SEALED_HEAD[:1])
        await Storage(store).save("7/uploads/old", content)
        assert await SealedFiles(Storage(store), _KEYS).load("7/uploads/old") == content


async def test_an_encrypted_file_is_readable_only_under_its_own_name(store: ObjectStore) -> None:
    files, raw = SealedFiles(Storage(store), _KEYS), Storage(store)
    await files.save("7/uploads/a", b"%PDF-1")
    await raw.save("8/uploads/b", await raw.load("7/uploads/a"))
    with pytest.raises(DecryptionFailed):
        await files.load("8/uploads/b")


@pytest.fixture
def development(tmp_path: Path) -> Settings:
    return load_settings({}, data_dir=str(tmp_path / "data"))


async def test_the_outbox_is_encrypted_only_in_production(development: Settings) -> None:
    production = dataclasses.replace(development, profile="production")
    for settings, is_sealed in ((production, True), (development, False)):
        message = a_message()
        email = build_channel_adapters(settings)[0]
        assert await email.send(message) == Accepted()
        kept = [path for path in (settings.data_dir / "outbox").rglob("*") if path.is_file()]
        path = max(kept, key=lambda each: each.stat().st_mtime_ns)
        assert (path.suffix == ".sealed") is is_sealed
        assert (b"Subject:" not in path.read_bytes()) is is_sealed
    folder = OutboxFolder(production.data_dir, KeyRing(production.secret_key))
    assert b"Subject:" in folder.read(folder.build_path("EMAIL", message, ".eml"))


async def test_the_encrypted_marker_of_a_late_failure_is_found(tmp_path: Path) -> None:
    folder, message = OutboxFolder(tmp_path, _KEYS), a_message()
    mark = folder.build_mark_path(message)
    folder.write(mark, b"")
    [(path, merchant_id, communication_id)] = list_marks(tmp_path)
    assert path.exists()
    assert (merchant_id, communication_id) == (message.merchant_id, message.communication_id)
