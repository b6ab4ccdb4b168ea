"""The embedded database owns the folders that it creates, and changes no existing ones."""

import os
import stat
from pathlib import Path

import pytest

from dunwell.platform.embedded.postgres import (
    EmbeddedPostgres,
    PostgresFailed,
    get_binaries_folder,
    stop_server,
)
from dunwell.platform.embedded.postgres_user import get_server_user

_OTHER_UID = 12345


def _read_owner(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_uid, stat.S_IMODE(found.st_mode)


def _an_embedded(folder: Path) -> EmbeddedPostgres:
    return EmbeddedPostgres(folder / "postgres", get_binaries_folder(None))


def test_folders_of_the_embedded_database_are_private_to_its_user(tmp_path: Path) -> None:
    embedded = _an_embedded(tmp_path)
    server = embedded.start()
    stop_server(server)
    expected = get_server_user().pw_uid, 0o700
    assert _read_owner(embedded.folder) == _read_owner(embedded.socket_folder) == expected
    # No temporary files are left, and the folders can be used again.
    assert [each.name for each in tmp_path.iterdir()] == ["postgres"]
    stop_server(embedded.start())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder to another user")
@pytest.mark.parametrize("uid", [0, _OTHER_UID])
@pytest.mark.parametrize("place", ["folder", "socket_folder"])
def test_a_folder_of_another_owner_is_refused_and_unchanged(
    tmp_path: Path, uid: int, place: str
) -> None:
    embedded = _an_embedded(tmp_path)
    if place == "socket_folder":
        stop_server(embedded.start())
        embedded.socket_folder.rmdir()
    found: Path = getattr(embedded, place)
    found.mkdir()
    (found / "theirs").touch()
    found.chmod(0o755)
    os.chown(found, uid, uid)
    with pytest.raises(PostgresFailed, match=rf"Run: chown \w+ {found}, or remove it"):
        embedded.start()
    assert _read_owner(found) == (uid, 0o755)


def test_a_symbolic_link_instead_of_a_folder_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    embedded = _an_embedded(tmp_path)
    before = _read_owner(elsewhere)
    embedded.folder.symlink_to(elsewhere)
    with pytest.raises(PostgresFailed, match="is not a folder of"):
        embedded.start()
    assert _read_owner(elsewhere) == before
