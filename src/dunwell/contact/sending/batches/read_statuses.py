"""Reads what print services report of letters, from the status folder of each line, into the inbox
of reports.

One worker reads a line's files at a time; the others leave that line until it is done, or dead.
A file is read whole in one transaction, then moved to `done`. One that cannot be read whole is
moved to `refused`, nothing of it is stored, and an operator is told. A worker that dies between the
two reads it again, which changes nothing: a report that comes twice is one.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from dunwell.contact.sending.batches.letter_folder import DONE, PART, REFUSED, STATUS, LetterLine
from dunwell.contact.sending.batches.status_file import (
    MOST_BYTES,
    Status,
    StatusFileBroken,
    StatusLine,
    check_status_file,
    read_status_file,
)
from dunwell.contact.sending.batches.store import (
    ItemKey,
    lease_line,
    release_line,
    renew_line,
    save_read,
    save_refused,
    save_statuses,
    sweep_status_files,
)
from dunwell.contact.sending.references import read_reference
from dunwell.contact.sending.report import Cause, Reference, Report, ReportState
from dunwell.contact.sending.store import save_reports
from dunwell.platform.crypto import sha256
from dunwell.platform.database.database import Connection
from dunwell.platform.heartbeat import keep_lease, start_lease
from dunwell.platform.resources import Resources

STATUS_SECONDS = 60.0
# What each means for the message: posted is the last that a letter on its way tells of itself.
_MEANING: Mapping[Status, tuple[ReportState, Cause, str]] = {
    "ACCEPTED": ("DELAYED", "OTHER", "the print service has taken it"),
    "PRINTED": ("DELAYED", "OTHER", "printed"),
    "POSTED": ("DELIVERED", "OTHER", ""),
    "RETURNED": ("RETURNED", "ADDRESS", "returned by the post"),
    "FAILED": ("FAILED", "OTHER", "the print service did not print it"),
}
_KEPT_FOR = timedelta(days=90)
_SWEPT_AT_ONCE = 1_000
_MOST_NAME = 200

log = structlog.get_logger(__name__)


class StatusReader:
    """find_lines: the installation's lines for letters, as they are now."""

    def __init__(
        self, resources: Resources, find_lines: Callable[[], Mapping[str, LetterLine]]
    ) -> None:
        self._resources = resources
        self._find_lines = find_lines

    async def run_once(self) -> int:
        """How many files were read. A line that is away stops no other."""
        done = 0
        for line in self._find_lines().values():
            try:
                done += await self._read_line(line)
            except OSError as error:
                log.warning("letter line away", line=line.name, error=type(error).__name__)
        return done

    async def sweep(self) -> int:
        """Forgets which files were read long ago."""
        before = self._resources.clock.now() - _KEPT_FOR
        async with self._resources.database.transaction() as tx:
            return await sweep_status_files(tx, before, _SWEPT_AT_ONCE)

    async def _read_line(self, line: LetterLine) -> int:
        """0 too, while another worker is at it."""
        resources = self._resources
        lease = start_lease(resources)
        async with resources.database.connection() as connection:
            if not await lease_line(connection, line.name, lease, resources.clock.now()):
                return 0
        try:
            async with keep_lease(
                resources, lambda tx, until: renew_line(tx, line.name, lease, until)
            ):
                return await self._read_files(line)
        finally:
            async with resources.database.connection() as connection:
                await release_line(connection, line.name, lease)

    async def _read_files(self, line: LetterLine) -> int:
        files = await line.depot.list(STATUS)
        done = 0
        for name in sorted(name for name in files if not name.endswith(PART)):
            try:
                await self._read_file(line, name, files[name])
                done += 1
            except OSError as error:
                # It cannot be read or moved: the others are read.
                log.warning("status file not moved", line=line.name, error=type(error).__name__)
        return done

    async def _read_file(self, line: LetterLine, name: str, size: int) -> None:
        """One that its service takes away meanwhile is left alone."""
        path = f"{STATUS}/{name}"
        try:
            content = await line.depot.read(path) if size <= MOST_BYTES else b""
        except FileNotFoundError:
            return
        digest = sha256(content)
        try:
            check_status_file(name, size)
            lines = read_status_file(name, content, line.status_format)
        except StatusFileBroken as error:
            await self._refuse(line, name, digest, str(error))
            return
        async with self._resources.database.transaction() as tx:
            await self._save(tx, line, lines)
            await save_read(
                tx, line.name, _write_name(name), digest,
                reports=len(lines), real_now=self._resources.clock.now(),
            )  # fmt: skip
        await line.depot.move(path, f"{DONE}/{_keep_apart(name, digest)}")

    async def _save(self, tx: Connection, line: LetterLine, lines: Sequence[StatusLine]) -> None:
        resources = self._resources
        named = [read_reference(resources.keys, each.reference) for each in lines]
        reports = [
            _write_report(line, each, reference)
            for each, reference in zip(lines, named, strict=True)
        ]
        await save_reports(tx, reports, real_now=resources.clock.now(), ids=resources.ids)
        latest: dict[ItemKey, tuple[str, datetime]] = {}
        for each, reference in sorted(zip(lines, named, strict=True), key=lambda said: said[0].at):
            if reference is not None:
                key = (reference.merchant_id, reference.communication_id)
                latest[key] = (each.status, each.at)
        await save_statuses(tx, latest)

    async def _refuse(self, line: LetterLine, name: str, digest: bytes, reason: str) -> None:
        log.error("status file refused", line=line.name, reason=reason)
        async with self._resources.database.transaction() as tx:
            await save_refused(
                tx, line.name, _write_name(name), digest,
                reason=reason, real_now=self._resources.clock.now(),
            )  # fmt: skip
        await line.depot.move(f"{STATUS}/{name}", f"{REFUSED}/{_keep_apart(name, digest)}")


def _write_report(line: LetterLine, said: StatusLine, reference: Reference | None) -> Report:
    state, cause, reason = _MEANING[said.status]
    return Report(
        line=line.name,
        provider_id=f"{said.reference}/{said.status.lower()}",
        state=state,
        happened_at=said.at,
        reference=reference,
        reason=reason,
        cause=cause,
        raw=said.raw,
    )


def _keep_apart(name: str, digest: bytes) -> str:
    """Another file of the same name replaces none that was read before. What is longer than names
    may be loses its beginning."""
    kept = name.encode(errors="surrogateescape")[-_MOST_NAME:]
    return f"{digest[:4].hex()}-{kept.decode(errors='surrogateescape')}"


def _write_name(name: str) -> str:
    """As it can be stored: a folder's names need not be text."""
    return name[:_MOST_NAME].encode(errors="backslashreplace").decode()
