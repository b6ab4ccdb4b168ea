"""The delivery provider `folder`: letters are written into a folder on the workers' machine. A
letter is accepted only after it was written to the disk."""

import asyncio
import contextlib
import os
import shutil
from pathlib import Path

from dunwell.accounts.installation.delivery_providers import FolderProvider
from dunwell.adapters.channels.print_service.channel import PrintServiceChannel
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.sending.batches.letter_folder import PART_SUFFIX
from dunwell.platform.resources import Resources


class LocalFolder:
    """An `ExchangeFolder` on this machine. The folder is never created: a missing folder, such as a
    disk that is not mounted, is reported as an error."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def write(self, name: str, content: bytes) -> None:
        await asyncio.to_thread(self._write, name, content)

    async def write_part(self, name: str, content: bytes) -> None:
        await asyncio.to_thread(self._write_part, name, content)

    async def finish_part(self, name: str) -> None:
        path = self._folder / name
        await asyncio.to_thread(os.replace, f"{path}{PART_SUFFIX}", path)

    async def has(self, name: str) -> bool:
        return await asyncio.to_thread((self._folder / name).is_file)

    async def has_folder(self, folder: str) -> bool:
        """Return whether this subfolder exists; "" is the exchange folder itself."""
        return await asyncio.to_thread((self._folder / folder).is_dir)

    async def list(self, folder: str = "") -> dict[str, int]:
        return await asyncio.to_thread(self._list, folder)

    async def read(self, name: str) -> bytes:
        return await asyncio.to_thread((self._folder / name).read_bytes)

    async def move(self, name: str, to: str) -> None:
        await asyncio.to_thread(self._move, name, to)

    async def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread((self._folder / name).unlink)

    async def free_bytes(self) -> int | None:
        return (await asyncio.to_thread(shutil.disk_usage, self._folder)).free

    async def close(self) -> None:
        """There is no connection to close."""

    def _write(self, name: str, content: bytes) -> None:
        self._write_part(name, content)
        path = self._folder / name
        Path(f"{path}{PART_SUFFIX}").replace(path)

    def _write_part(self, name: str, content: bytes) -> None:
        part = Path(f"{self._folder / name}{PART_SUFFIX}")
        if part.parent != self._folder:
            part.parent.mkdir(exist_ok=True)
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()
            raise

    def _list(self, folder: str) -> dict[str, int]:
        sizes = {}
        try:
            with os.scandir(self._folder / folder) as entries:
                for entry in entries:
                    # A file may be deleted while it is examined.
                    with contextlib.suppress(FileNotFoundError):
                        if entry.is_file(follow_symlinks=False):
                            sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            if not folder:
                raise
        return sizes

    def _move(self, name: str, to: str) -> None:
        target = self._folder / to
        target.parent.mkdir(parents=True, exist_ok=True)
        (self._folder / name).replace(target)


class FolderChannel(PrintServiceChannel):
    def __init__(
        self, name: str, provider: FolderProvider, resources: Resources,
        printer: LetterPrinter | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            name,
            provider,
            letter_folder=LocalFolder(Path(provider.folder)),
            resources=resources,
            printer=printer,
        )
