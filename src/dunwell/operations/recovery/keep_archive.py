"""Maintain the archive of the embedded database: copy new files, record until when the archive is
complete, and take base backups.

The server archives its log by itself. This module records a point until which everything is
archived as follows:

1. Note the time.
2. Copy the new files.
3. Commit a transaction, so that the log has one after that time, and end the log segment.
4. Once the archive contains that segment, it contains everything until that time.
"""

import asyncio
import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import asyncpg
import msgspec
import structlog
from prometheus_client import Gauge

from dunwell.operations.recovery.archive import (
    BASE_FILES,
    ArchiveReach,
    BaseBackup,
    WalArchive,
    chown_to_server,
    extend_bases,
    load_archive_status,
    write_atomically,
)
from dunwell.operations.recovery.back_up import fingerprint_keys
from dunwell.operations.recovery.backup_set import list_kept_folders, walk_kept_files
from dunwell.operations.recovery.wal_file import ENDING, archive_file
from dunwell.platform.config import Settings
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.errors import InvalidState
from dunwell.platform.metrics import REGISTRY

ARCHIVE_SECONDS = 30.0
# At the end, two steps can each take this time. Two of them must take less than `up` gives its
# child processes to stop.
_TIMEOUT_SECONDS = 8.0
_POLL_SECONDS = 0.1
# Entries of the data folder that are only meaningful while the processes that made them run.
_TEMPORARY_ENTRIES = frozenset({"figures", "incoming"})
_LOAD_SERVER = """
SELECT system_identifier::text, current_setting('server_version'),
    (SELECT max(revision) FROM schema_migrations),
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
FROM pg_control_system()
"""
# A transaction that commits without changing anything.
_COMMIT = "SELECT pg_current_xact_id()"
_SEGMENT = "SELECT pg_walfile_name(pg_current_wal_insert_lsn())"
_NOW = "SELECT clock_timestamp()"

_REACHES_UNTIL = Gauge(
    "dunwell_archive_reaches_until_timestamp_seconds",
    "Time until which everything acknowledged is in the archive.",
    registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip
_NEWEST_BASE_AT = Gauge(
    "dunwell_archive_newest_base_timestamp_seconds",
    "Time at which the newest base backup in the archive was started.",
    registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip

log = structlog.get_logger(__name__)


class ArchivedServer(msgspec.Struct, frozen=True, gc=False):
    identifier: str
    version: str
    schema: str
    # The first part of the names of the server's log segments.
    timeline: str


class BaseFailed(InvalidState):
    """pg_basebackup failed; the message is its output."""


async def keep_archive(
    settings: Settings, archive: WalArchive, postgres: EmbeddedPostgres, stop: asyncio.Event
) -> None:
    """Archive repeatedly until `stop` is set, and once more at the end. Failures are logged and
    retried; no other part of the service waits for the archive."""
    keeper = ArchiveKeeper(settings, archive, postgres)
    stopping = asyncio.create_task(stop.wait())
    while not stop.is_set():
        await keeper.archive_once()
        waiting = {stopping} if keeper.base_backup is None else {stopping, keeper.base_backup}
        await asyncio.wait(waiting, timeout=ARCHIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    keeper.is_stopping = True
    await keeper.cancel_base_backup()
    await keeper.archive_once()


class ArchiveKeeper:
    """Maintains the archive for one process."""

    def __init__(self, settings: Settings, archive: WalArchive, postgres: EmbeddedPostgres) -> None:
        self._settings = settings
        self._archive = archive
        self._postgres = postgres
        self._copied: set[str] = set()
        self.is_stopping = False
        self.base_backup: asyncio.Task[None] | None = None

    async def archive_once(self) -> None:
        """Archive up to now, and start a base backup if one is due. Failures are logged."""
        try:
            if self.base_backup is not None and self.base_backup.done():
                finished, self.base_backup = self.base_backup, None
                finished.result()
            await self._archive_until_now()
        except Exception:
            # The next attempt may succeed, whatever the error was.
            log.exception("archiving failed")
        await asyncio.to_thread(self._set_metrics)

    async def _archive_until_now(self) -> None:
        connection = await asyncpg.connect(self._postgres.url, timeout=_TIMEOUT_SECONDS)
        try:
            server = ArchivedServer(*await connection.fetchrow(_LOAD_SERVER))
            await asyncio.to_thread(self._prepare_archive, server)
            until = await connection.fetchval(_NOW)
            await asyncio.to_thread(self._copy_new_files)
            await connection.fetchval(_COMMIT)
            segment = await connection.fetchval(_SEGMENT)
            await connection.fetchval("SELECT pg_switch_wal()")
        finally:
            await connection.close()
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            while not self._archive.has_segment(segment):  # noqa: ASYNC110 - PostgreSQL writes the file
                await asyncio.sleep(_POLL_SECONDS)
        has_recent_base = await asyncio.to_thread(
            extend_bases, self._archive, ArchiveReach(until, segment)
        )
        if not has_recent_base and self.base_backup is None and not self.is_stopping:
            self.base_backup = asyncio.create_task(self._make_base_backup(server, until))

    def _set_metrics(self) -> None:
        """Set the metrics as instants, so that their age grows even if this process stops."""
        with contextlib.suppress(OSError):
            status = load_archive_status(self._archive)
            if status.newest_base_at is not None:
                _NEWEST_BASE_AT.set(status.newest_base_at.timestamp())
            if status.until is not None:
                _REACHES_UNTIL.set(status.until.timestamp())

    def _prepare_archive(self, server: ArchivedServer) -> None:
        """Create the folders. Add the timelines that began while archiving was off to the archive,
        so that the server never uses one of their numbers again."""
        self._archive.prepare(self._postgres, server.identifier)
        for history in (self._postgres.folder / "data" / "pg_wal").glob("*.history"):
            archive_file(self._archive.log, history)
            chown_to_server(self._archive.log / f"{history.name}{ENDING}")

    def _copy_new_files(self) -> None:
        for name, path in _list_files_to_keep(self._settings):
            if name in self._copied:
                continue
            target = self._archive.files / name
            if not target.exists():
                # The file was deleted together with its row in the meantime.
                with contextlib.suppress(FileNotFoundError):
                    _copy(path, target, self._archive.folder / "file.draft")
            self._copied.add(name)

    async def _make_base_backup(self, server: ArchivedServer, now: datetime) -> None:
        archive, name = self._archive, f"{now:%Y-%m-%dT%H-%M-%SZ}"
        draft = await asyncio.to_thread(archive.create_base_draft, name)
        try:
            file_names = [name for name, _ in _list_files_to_keep(self._settings)]
            await _run_base_backup(self._postgres, draft)
            write_atomically(draft / BASE_FILES, msgspec.json.encode(file_names))
            connection = await asyncpg.connect(self._postgres.url)
            ended_at = await connection.fetchval(_NOW)
            await connection.close()
            base = BaseBackup(
                dunwell=version("dunwell"), schema=server.schema, server=server.version,
                start_segment=_get_first_segment(draft), started_at=now, ended_at=ended_at,
                fingerprints=fingerprint_keys(self._settings),
            )  # fmt: skip
            await asyncio.to_thread(archive.finish_base, draft, base)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        log.info("base backup taken")

    async def cancel_base_backup(self) -> None:
        """Stop the base backup that is being taken. It is started again after the next start."""
        if self.base_backup is not None and not self.base_backup.done():
            self.base_backup.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.base_backup
            self.base_backup = None


async def _run_base_backup(postgres: EmbeddedPostgres, draft: Path) -> None:
    """Run pg_basebackup. Raises BaseFailed."""
    program = await asyncio.create_subprocess_exec(
        str(postgres.binaries / "pg_basebackup"), f"--dbname={postgres.url}",
        f"--pgdata={draft}", "--format=tar", "--compress=gzip:1", "--wal-method=stream",
        "--checkpoint=fast", "--no-password",
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        _, output = await program.communicate()
    except asyncio.CancelledError:
        program.send_signal(signal.SIGTERM)
        await program.wait()
        raise
    if program.returncode != 0:
        raise BaseFailed(f"pg_basebackup: {output.decode(errors='replace').strip()}")


def _get_first_segment(draft: Path) -> str:
    """Return the first segment that the base backup needs."""
    manifest = msgspec.json.decode((draft / "backup_manifest").read_bytes())
    [log_range] = manifest["WAL-Ranges"]
    high, low = log_range["Start-LSN"].split("/")
    return f"{log_range['Timeline']:08X}{int(high, 16):08X}{int(low, 16) >> 24:08X}"


def _list_files_to_keep(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yield the files to keep and their names in the archive. Their contents never change."""
    for part, folder in list_kept_folders(settings).items():
        for path in walk_kept_files(folder):
            relative = path.relative_to(folder)
            if relative.parts[0] not in _TEMPORARY_ENTRIES:
                yield f"{part}/{relative.as_posix()}", path


def _copy(source: Path, target: Path, draft: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(source, draft)
    write_atomically(target, draft.read_bytes())
