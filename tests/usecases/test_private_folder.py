"""What is kept is its owner's alone: whatever the umask, and what was left open before too."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dunwell.adapters.channels.outbox.folder import OutboxFolder
from dunwell.cli.doctor import check_folders
from dunwell.cli.options import read_settings
from dunwell.config import Settings, load_settings
from dunwell.config.private_folder import close_to_others, find_open
from dunwell.files.storage import Storage
from dunwell.kit.folder_lock import FolderLock


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [each for each in os.environ if each.startswith("DUNWELL_")]:
        monkeypatch.delenv(name)
    return tmp_path / "data"


def _modes(folder: Path) -> dict[str, str]:
    paths = [folder, *sorted(folder.rglob("*"))]
    return {str(path.relative_to(folder)): stat.filemode(path.lstat().st_mode) for path in paths}


async def _write_everything(settings: Settings) -> None:
    FolderLock.acquire(settings.data_dir, "test").release()
    outbox = OutboxFolder(settings.data_dir)
    outbox.write(outbox.path / "1" / "EMAIL" / "mail.eml", b"mail")
    await Storage.open(settings.files_url).save("1/uploads/a", b"file")


async def test_whatever_the_umask_all_that_is_written_is_closed(data_dir: Path) -> None:
    await _write_everything(read_settings("test", data_dir=str(data_dir)))
    modes = _modes(data_dir)
    assert set(modes.values()) == {"drwx------", "-rw-------"}
    assert {"secret.key", "dunwell.lock", "outbox/1/EMAIL/mail.eml", "files/1/uploads/a"} <= {
        *modes
    }


async def test_what_was_left_open_is_told_and_closed_at_the_start(data_dir: Path) -> None:
    settings = load_settings({}, data_dir=str(data_dir))
    await _write_everything(settings)
    (data_dir / "postgres").mkdir()
    (data_dir / "another's").write_bytes(b"not ours to change")
    finding = check_folders(settings)
    assert finding.words.startswith(f"others can reach {data_dir} (0777) and ")
    assert finding.remedy is not None
    # Key and lock never were open; the tenth is not ours.
    assert close_to_others(settings) == len(_modes(data_dir)) - 3
    assert check_folders(settings).remedy is None
    left = {name for name, mode in _modes(data_dir).items() if not mode.endswith("------")}
    assert left == {"another's"}


def test_a_folder_that_is_shared_on_purpose_is_left_as_it_is(data_dir: Path) -> None:
    data_dir.mkdir()
    data_dir.chmod(0o1777)
    settings = load_settings({}, data_dir=str(data_dir))
    assert list(find_open(settings)) == []
