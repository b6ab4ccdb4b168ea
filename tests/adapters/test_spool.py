"""Uploads on their way lie on disk, not in memory, within a bound, and nothing is left of them."""

import tempfile
import tracemalloc
from pathlib import Path

import pytest

from dunwell.errors import Unavailable
from dunwell.kit.multipart import FormLimits, FormReader
from dunwell.kit.spool import Spool

_MEGABYTE = 1024 * 1024
_HEAD = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.pdf"\r\n\r\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _a_reader(spool: Spool) -> FormReader:
    limits = FormLimits(8, 4096, 10 * _MEGABYTE, overflow=lambda *_: None, open_file=spool.open)
    return FormReader("multipart/form-data; boundary=x", limits)


def _held(spool: Spool, megabytes: int) -> FormReader:
    """A form whose file has come in so far, and no further."""
    reader = _a_reader(spool)
    assert list(reader.take(_HEAD)) == []
    for _ in range(megabytes * 16):
        assert list(reader.take(b"\0" * 65536)) == []
    return reader


def test_a_hundred_uploads_held_at_four_megabytes_take_little_memory(folder: Path) -> None:
    spool = Spool(1024 * _MEGABYTE)
    tracemalloc.start()
    try:
        held = [_held(spool, 4) for _ in range(100)]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / len(held) <= 256 * 1024
    assert spool.held_bytes > 399 * _MEGABYTE
    # Without a name: what a killed process held is gone with it.
    assert list(folder.iterdir()) == []
    held.clear()
    assert spool.held_bytes == 0


def test_a_file_comes_out_as_it_came_in(folder: Path) -> None:
    spool, content = Spool(_MEGABYTE), bytes(range(256)) * 1024
    [part] = _a_reader(spool).take(_HEAD + content + b"\r\n--x--\r\n")
    assert part.file is not None
    assert (len(part.file), part.file.read()) == (len(content), content)
    part.file.close()
    assert spool.held_bytes == 0


def test_past_the_bound_callers_are_asked_to_wait(folder: Path) -> None:
    spool = Spool(2 * _MEGABYTE)
    held = _held(spool, 1)
    with pytest.raises(Unavailable) as refusal:
        spool.check_room(2 * _MEGABYTE)
    assert refusal.value.retry_after > 0
    with pytest.raises(Unavailable):
        _held(spool, 2)
    del held, refusal
    spool.check_room(2 * _MEGABYTE)
