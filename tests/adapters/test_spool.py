"""Unfinished uploads are on disk and not in memory, their total size is limited, and none is left
behind."""

import tempfile
import tracemalloc
from pathlib import Path

import pytest

from dunwell.platform.errors import RateLimited, Unavailable
from dunwell.platform.http.multipart import UPLOADS, FormLimits, FormReader, Spool

_MEGABYTE = 1024 * 1024
_HEAD = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.pdf"\r\n\r\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _a_reader(spool: Spool, sender: int = 1) -> FormReader:
    share = spool.get_share(sender)
    limits = FormLimits(8, 4096, 10 * _MEGABYTE, overflow=lambda *_: None, open_file=share.open)
    return FormReader("multipart/form-data; boundary=x", limits)


def _held(spool: Spool, megabytes: int, sender: int = 1) -> FormReader:
    """Return a form whose file was received up to this size."""
    reader = _a_reader(spool, sender)
    assert list(reader.feed(_HEAD)) == []
    for _ in range(megabytes * 16):
        assert list(reader.feed(b"\0" * 65536)) == []
    return reader


def test_a_hundred_unfinished_uploads_use_little_memory(folder: Path) -> None:
    spool = Spool(1024 * _MEGABYTE)
    tracemalloc.start()
    try:
        held = [_held(spool, 4, sender) for sender in range(100)]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / len(held) <= 256 * 1024
    assert spool.held_bytes > 399 * _MEGABYTE
    # The files have no name, so that they vanish with a killed process.
    assert list(folder.iterdir()) == []
    held.clear()
    assert spool.held_bytes == 0


def test_a_file_is_read_as_it_was_written(folder: Path) -> None:
    spool, content = Spool(4 * _MEGABYTE), bytes(range(256)) * 1024
    [part] = _a_reader(spool).feed(_HEAD + content + b"\r\n--x--\r\n")
    assert part.file is not None
    assert (len(part.file), part.file.read()) == (len(content), content)
    part.file.close()
    assert spool.held_bytes == 0


def test_unfinished_uploads_are_in_a_folder_that_only_their_owner_can_read(tmp_path: Path) -> None:
    spool, place = Spool(4 * _MEGABYTE), tmp_path / "data" / "incoming"
    spool.use_folder(place)
    content = spool.get_share(1).open()
    content.write(b"x" * 100_000)
    [link] = _find_open_under(place)
    assert place.stat().st_mode & 0o777 == 0o700
    assert link.stat().st_mode & 0o777 == 0o600
    assert list(place.iterdir()) == []
    content.close()


def _find_open_under(place: Path) -> list[Path]:
    """Return the files below `place` that this process has open, with or without a name."""
    links = Path("/proc/self/fd").iterdir()
    return [each for each in links if each.is_symlink() and str(place) in str(each.readlink())]


def test_a_process_holds_at_most_a_gibibyte_and_a_quarter_of_it_for_one_sender() -> None:
    share = UPLOADS.get_share("a sender")
    share.check_room(256 * _MEGABYTE)
    with pytest.raises(RateLimited):
        share.check_room(256 * _MEGABYTE + 1)
    with pytest.raises(Unavailable):
        share.check_room(1024 * _MEGABYTE - UPLOADS.held_bytes + 1)


def test_callers_above_the_limit_are_asked_to_wait(folder: Path) -> None:
    spool = Spool(8 * _MEGABYTE)
    waiting = [_held(spool, 1, sender) for sender in range(1, 8)]
    with pytest.raises(Unavailable) as refusal:
        _held(spool, 2, sender=8)
    assert refusal.value.retry_after > 0
    del waiting, refusal
    spool.get_share(9).check_room(2 * _MEGABYTE)


def test_one_sender_at_its_limit_does_not_block_others(folder: Path) -> None:
    spool = Spool(8 * _MEGABYTE)
    mine = _held(spool, 1, sender=1)
    with pytest.raises(RateLimited) as refusal:
        _held(spool, 2, sender=1)
    assert refusal.value.retry_after > 0
    theirs = _held(spool, 1, sender=2)
    del mine, theirs, refusal
    spool.get_share(1).check_room(2 * _MEGABYTE)
    assert spool.held_bytes == 0


def test_a_removed_folder_of_the_spool_is_created_again(tmp_path: Path) -> None:
    spool, folder = Spool(40 * _MEGABYTE), tmp_path / "incoming"
    spool.use_folder(folder)
    folder.rmdir()
    content = spool.get_share(1).open()
    content.write(bytes(4 * _MEGABYTE))
    assert (len(content.read()), folder.is_dir()) == (4 * _MEGABYTE, True)
    content.close()
