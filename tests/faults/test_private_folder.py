"""Stored files are private to their owner, under any umask and after earlier wrong modes."""

import base64
import os
import secrets
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dunwell.adapters.channels.outbox.folder import OutboxFolder
from dunwell.core.files.storage import Storage
from dunwell.interfaces.cli.doctor import check_folders
from dunwell.interfaces.cli.options import read_settings
from dunwell.platform.config import Settings, load_settings
from dunwell.platform.config.private_folder import list_accessible, restrict_access
from dunwell.platform.embedded.folder_lock import FolderLock
from tests.support.processes import complete_environment


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


async def test_all_written_files_are_private_under_any_umask(data_dir: Path) -> None:
    await _write_everything(read_settings("test", data_dir=str(data_dir)))
    modes = _modes(data_dir)
    assert set(modes.values()) == {"drwx------", "-rw-------"}
    assert {"secret.key", "dunwell.lock", "outbox/1/EMAIL/mail.eml", "files/1/uploads/a"} <= {
        *modes
    }


async def test_accessible_files_are_reported_and_restricted_at_the_start(data_dir: Path) -> None:
    settings = load_settings({}, data_dir=str(data_dir))
    await _write_everything(settings)
    os.chmod(data_dir, 0o777)  # noqa: PTH101
    (data_dir / "postgres").mkdir()
    (data_dir / "another's").write_bytes(b"not ours to change")
    finding = check_folders(settings)
    assert finding.words.startswith(f"other users can access {data_dir} (0777) and ")
    assert finding.remedy is not None
    # Key, lock and mark were never accessible, and one file is not ours.
    assert restrict_access(settings) == len(_modes(data_dir)) - 4
    assert check_folders(settings).remedy is None
    left = {name for name, mode in _modes(data_dir).items() if not mode.endswith("------")}
    assert left == {"another's"}


def test_a_deliberately_shared_folder_is_unchanged(data_dir: Path) -> None:
    data_dir.mkdir()
    data_dir.chmod(0o1777)
    settings = load_settings({}, data_dir=str(data_dir))
    assert list(list_accessible(settings)) == []


def _find_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
        return port


@pytest.mark.parametrize("command", ["web", "worker", "mail", "up"])
def test_a_folder_that_dunwell_did_not_make_keeps_its_mode(tmp_path: Path, command: str) -> None:
    """Started in `/`, like a service without its own folder: `./var` belongs to the host."""
    host = tmp_path / "root"
    for name in ("var", "var/outbox", "var/postgres", "var/files", "var/files/1"):
        (host / name).mkdir(parents=True, exist_ok=True)
        (host / name).chmod(0o755)
    before = {name: mode for name, mode in _modes(host).items() if mode.startswith("d")}
    # There is no database: the process ends, or is killed, after its first actions.
    environment = {
        **complete_environment({}),
        "DUNWELL_DATABASE_URL": "postgresql://x@127.0.0.1:1/x",
    }
    arguments = ["--port", str(_find_port())] if command in {"web", "up"} else []
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "dunwell", command, *arguments],
        cwd=host, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        while not (host / "var" / "secret.key").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        # The process changes folders right after it has created the key.
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=3)
        process.kill()
    after = _modes(host)
    assert {name: after[name] for name in before} == before
    assert after["var/secret.key"] == "-rw-------"
    written = {name: mode for name, mode in after.items() if name not in before}
    assert {mode[-6:] for mode in written.values()} == {"------"}


def test_key_and_lock_files_are_private_in_any_folder(data_dir: Path) -> None:
    data_dir.mkdir()
    data_dir.chmod(0o755)
    settings = load_settings({}, data_dir=str(data_dir))
    (data_dir / "secret.key").chmod(0o644)
    (data_dir / "outbox").mkdir()
    assert restrict_access(settings) == 1
    assert _modes(data_dir) == {
        ".": "drwxr-xr-x", "outbox": "drwxrwxrwx", "secret.key": "-rw-------"
    }  # fmt: skip
    assert check_folders(settings).remedy == f"Run: chmod -R go-rwx {data_dir / 'outbox'}"


def test_the_data_folder_of_production_is_not_the_current_directory() -> None:
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    environment = {
        "DUNWELL_PROFILE": "production", "DUNWELL_SECRET_KEY": key,
        "DUNWELL_DATABASE_URL": "postgresql://dunwell@localhost/dunwell",
        "DUNWELL_PUBLIC_URL": "https://claims.example.com",
    }  # fmt: skip
    assert load_settings(environment).data_dir == Path("/var/lib/dunwell")
    assert load_settings({**environment, "DUNWELL_DATA_DIR": "/srv/x"}).data_dir == Path("/srv/x")
