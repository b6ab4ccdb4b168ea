"""Which base backups an archive takes and keeps, around their age limits, and what is deleted with
them."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from dunwell.operations.recovery.archive import (
    BASE_FILES,
    ArchiveReach,
    BaseBackup,
    WalArchive,
    extend_bases,
    load_reach,
)
from dunwell.operations.recovery.wal_file import ENDING

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY, JUST = timedelta(days=1), timedelta(microseconds=1)


def a_segment(number: int, timeline: int = 1) -> str:
    return f"{timeline:08X}{0:08X}{number:08X}"


@pytest.fixture
def archive(tmp_path: Path) -> WalArchive:
    """Return an archive with twenty log segments."""
    made = WalArchive(tmp_path)
    for folder in (made.log, made.bases, made.files):
        folder.mkdir()
    for number in range(1, 21):
        (made.log / f"{a_segment(number)}{ENDING}").touch()
    return made


def take_base(
    archive: WalArchive, name: str, *, age: timedelta, start: str, files: list[str] | None = None
) -> None:
    """Add a base backup that was taken within a second."""
    draft = archive.create_base_draft(name)
    (draft / BASE_FILES).write_bytes(msgspec.json.encode(files or []))
    at = NOW - age
    archive.finish_base(draft, BaseBackup("1", "1", "18", start, at, at, {1: "f"}))


def copy_file(archive: WalArchive, name: str, age: timedelta) -> None:
    (archive.files / name).write_bytes(b"content")
    at = (NOW - age).timestamp()
    os.utime(archive.files / name, (at, at))


def list_names(archive: WalArchive) -> list[str]:
    return sorted(folder.name for folder in archive.bases.iterdir())


@pytest.mark.parametrize(("age", "is_based"), [(7 * DAY - JUST, True), (7 * DAY, False)])
def test_a_base_backup_is_due_when_the_last_is_a_week_old(
    archive: WalArchive, age: timedelta, is_based: bool
) -> None:
    take_base(archive, "old", age=12 * DAY, start=a_segment(1))
    take_base(archive, "new", age=age, start=a_segment(9))
    assert extend_bases(archive, ArchiveReach(NOW, a_segment(20))) is is_based
    assert list_names(archive) == ["new", "old"]


@pytest.mark.parametrize(
    ("age", "kept"), [(14 * DAY - JUST, ["first", "second"]), (14 * DAY, ["second"])]
)
def test_a_base_backup_is_deleted_once_the_next_is_two_weeks_old(
    archive: WalArchive, age: timedelta, kept: list[str]
) -> None:
    """Until then it is needed to restore to the moments in between."""
    take_base(archive, "first", age=100 * DAY, start=a_segment(1))
    take_base(archive, "second", age=age, start=a_segment(9))
    extend_bases(archive, ArchiveReach(NOW, a_segment(20)))
    assert list_names(archive) == kept
    first = 9 if kept == ["second"] else 1
    assert archive.list_segments() == {a_segment(number) for number in range(first, 21)}


def test_the_last_base_backup_is_kept_at_any_age(archive: WalArchive) -> None:
    take_base(archive, "only", age=1000 * DAY, start=a_segment(1))
    assert extend_bases(archive, ArchiveReach(NOW, a_segment(20))) is False
    assert list_names(archive) == ["only"]
    assert len(archive.list_segments()) == 20


def test_file_copies_that_no_kept_base_backup_needs_are_deleted(archive: WalArchive) -> None:
    """A file that had been deleted before the oldest kept base backup. A copy made since then
    stays, because a later moment may need the file."""
    take_base(archive, "first", age=40 * DAY, start=a_segment(1), files=["gone", "there"])
    take_base(archive, "second", age=20 * DAY, start=a_segment(5), files=["there"])
    take_base(archive, "third", age=5 * DAY, start=a_segment(9), files=[])
    for name, age in {"gone": 50, "there": 50, "short-lived": 15}.items():
        copy_file(archive, name, age * DAY)
    extend_bases(archive, ArchiveReach(NOW, a_segment(20)))
    assert list_names(archive) == ["second", "third"]
    assert {path.name for path in archive.files.iterdir()} == {"there", "short-lived"}


def test_a_base_backup_after_a_gap_in_the_log_reaches_no_further(archive: WalArchive) -> None:
    """After a gap or on another timeline the base backup is not recent, and a new one is due."""
    take_base(archive, "broken", age=2 * DAY, start=a_segment(3))
    take_base(archive, "other", age=1 * DAY, start=a_segment(9, timeline=2))
    (archive.log / f"{a_segment(7)}{ENDING}").unlink()
    assert extend_bases(archive, ArchiveReach(NOW, a_segment(20))) is False
    assert [load_reach(folder) for folder, _ in archive.list_bases()] == [None, None]

    take_base(archive, "whole", age=3 * DAY, start=a_segment(8))
    assert extend_bases(archive, ArchiveReach(NOW, a_segment(20))) is True
    assert load_reach(archive.bases / "whole") == ArchiveReach(NOW, a_segment(20))


def test_a_base_backup_of_another_timeline_does_not_count(
    archive: WalArchive,
) -> None:
    """A restore to an earlier moment starts a new timeline, to which older base backups do not
    belong."""
    take_base(archive, "before", age=1 * DAY, start=a_segment(9))
    assert extend_bases(archive, ArchiveReach(NOW, a_segment(20, timeline=2))) is False
    assert load_reach(archive.bases / "before") is None
