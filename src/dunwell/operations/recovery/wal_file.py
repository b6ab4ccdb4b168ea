"""Copy one file of the database's log into the archive or back. The embedded server runs this file
as a program for each log file, so it imports nothing except the standard library. Files are
compressed, because a segment that was ended early is mostly empty."""

import gzip
import os
import shlex
import shutil
import sys
import zlib
from pathlib import Path

ENDING = ".gz"


def render_put_command(folder: Path) -> str:
    """Return the value of the server's `archive_command`."""
    return _render_command("put", "%p", folder)


def render_get_command(folder: Path) -> str:
    """Return the value of the server's `restore_command`."""
    return _render_command("get", "%p", folder, "%f")


def _render_command(word: str, path: str, folder: Path, *names: str) -> str:
    """Render the command for the server's shell. A percent sign is doubled, because the server
    replaces placeholders in the command."""
    program = [sys.executable, "-I", "-S", __file__, word, str(folder)]
    quoted = " ".join(shlex.quote(each) for each in program).replace("%", "%%")
    return " ".join([quoted, path, *names])


def archive_file(folder: Path, source: Path) -> None:
    """Copy the file into the archive. A file that exists is never replaced; if it has the same
    content, there is nothing to do. The folder is not created, because a missing folder means an
    unmounted disk. Raises OSError."""
    target = folder / f"{source.name}{ENDING}"
    if target.exists():
        with gzip.open(target) as existing:
            if existing.read() == source.read_bytes():
                return
        raise FileExistsError(f"{target} already exists with different content; it is not replaced")
    draft = folder / f".{source.name}.draft"
    try:
        with draft.open("wb") as file:
            with source.open("rb") as content, gzip.open(file, "wb", compresslevel=1) as packed:
                shutil.copyfileobj(content, packed)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(target)
        sync_folder(folder)
    finally:
        draft.unlink(missing_ok=True)


def restore_file(folder: Path, target: Path, name: str) -> None:
    """Copy the file from the archive. Raises OSError (also FileNotFoundError), and EOFError or
    zlib.error for a damaged file."""
    with gzip.open(folder / f"{name}{ENDING}") as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file)


def sync_folder(folder: Path) -> None:
    """Sync the folder, so that a rename survives a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def main(word: str, folder: str, path: str, *names: str) -> None:
    try:
        if word == "put":
            archive_file(Path(folder), Path(path))
        else:
            restore_file(Path(folder), Path(path), *names)
    except (OSError, EOFError, zlib.error) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
