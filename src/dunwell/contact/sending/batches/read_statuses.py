"""Read the status files of print services and save their reports for processing.

One worker reads the files of a provider; others skip the provider until that worker is finished or
dead. A file is saved in one transaction and then moved to `done`. A file that is not completely
readable is moved to `refused`; none of it is saved, and an error is logged. A worker that dies
between saving and moving causes a second reading, which has no effect, because duplicate reports
are ignored.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from dunwell.contact.sending.batches.letter_folder import (
    DONE,
    PART_SUFFIX,
    REFUSED,
    STATUS,
    PrintProvider,
)
from dunwell.contact.sending.batches.status_file import (
    MAX_STATUS_FILE_BYTES,
    LetterStatus,
    StatusFileBroken,
    StatusLine,
    check_status_file,
    parse_status_file,
)
from dunwell.contact.sending.batches.store import (
    ItemKey,
    lease_status_files,
    release_status_files,
    renew_status_lease,
    save_read_file,
    save_refused_file,
    save_statuses,
    sweep_status_files,
)
from dunwell.contact.sending.references import parse_reference
from dunwell.contact.sending.report import FailureCause, Reference, Report, ReportState
from dunwell.contact.sending.store import save_reports
from dunwell.platform.crypto import sha256
from dunwell.platform.database.database import Connection
from dunwell.platform.heartbeat import keep_lease, start_lease
from dunwell.platform.resources import Resources

# How often a worker looks for new status files.
STATUS_SECONDS = 60.0
# The meaning of each status for the message. POSTED is the last status of a letter that is not
# returned.
_REPORT_BY_STATUS: Mapping[LetterStatus, tuple[ReportState, FailureCause, str]] = {
    "ACCEPTED": ("DELAYED", "OTHER", "accepted by the print service"),
    "PRINTED": ("DELAYED", "OTHER", "printed"),
    "POSTED": ("DELIVERED", "OTHER", ""),
    "RETURNED": ("RETURNED", "ADDRESS", "returned by the post"),
    "FAILED": ("FAILED", "OTHER", "the print service did not print it"),
}
_KEPT_FOR = timedelta(days=90)
_SWEPT_AT_ONCE = 1_000
_MAX_NAME_BYTES = 200

log = structlog.get_logger(__name__)


class StatusFileReader:
    """Read status files.

    `find_providers` returns the current print providers by name.
    """

    def __init__(
        self, resources: Resources, find_providers: Callable[[], Mapping[str, PrintProvider]]
    ) -> None:
        self._resources = resources
        self._find_providers = find_providers

    async def run_once(self) -> int:
        """Read new files and return their number. An unavailable provider does not stop the
        others."""
        done = 0
        for provider in self._find_providers().values():
            try:
                done += await self._read_provider(provider)
            except OSError as error:
                log.warning(
                    "print provider unavailable", provider=provider.name, error=type(error).__name__
                )
        return done

    async def sweep(self) -> int:
        """Delete old records of files and return their number."""
        before = self._resources.clock.now() - _KEPT_FOR
        async with self._resources.database.transaction() as tx:
            return await sweep_status_files(tx, before, _SWEPT_AT_ONCE)

    async def _read_provider(self, provider: PrintProvider) -> int:
        """Read the new files of a provider and return their number, or 0 while another worker reads
        them."""
        resources = self._resources
        lease = start_lease(resources)
        async with resources.database.connection() as connection:
            if not await lease_status_files(
                connection, provider.name, lease, resources.clock.now()
            ):
                return 0
        try:
            async with keep_lease(
                resources, lambda tx, until: renew_status_lease(tx, provider.name, lease, until)
            ):
                return await self._read_files(provider)
        finally:
            async with resources.database.connection() as connection:
                await release_status_files(connection, provider.name, lease)

    async def _read_files(self, provider: PrintProvider) -> int:
        files = await provider.letter_folder.list(STATUS)
        done = 0
        for name in sorted(name for name in files if not name.endswith(PART_SUFFIX)):
            try:
                await self._read_file(provider, name, files[name])
                done += 1
            except OSError as error:
                # Continue with the other files.
                log.warning(
                    "status file not moved", provider=provider.name, error=type(error).__name__
                )
        return done

    async def _read_file(self, provider: PrintProvider, name: str, size: int) -> None:
        """Read one file. Ignore a file that the print service has removed in the meantime."""
        path = f"{STATUS}/{name}"
        try:
            content = (
                await provider.letter_folder.read(path) if size <= MAX_STATUS_FILE_BYTES else b""
            )
        except FileNotFoundError:
            return
        digest = sha256(content)
        try:
            check_status_file(name, size)
            lines = parse_status_file(name, content, provider.status_format)
        except StatusFileBroken as error:
            await self._refuse(provider, name, digest, str(error))
            return
        async with self._resources.database.transaction() as tx:
            await self._save(tx, provider, lines)
            await save_read_file(
                tx, provider.name, _escape_name(name), digest,
                reports=len(lines), real_now=self._resources.clock.now(),
            )  # fmt: skip
        await provider.letter_folder.move(path, f"{DONE}/{_make_name_unique(name, digest)}")

    async def _save(
        self, tx: Connection, provider: PrintProvider, lines: Sequence[StatusLine]
    ) -> None:
        resources = self._resources
        references = [parse_reference(resources.keys, each.reference) for each in lines]
        reports = [
            _build_report(provider, each, reference)
            for each, reference in zip(lines, references, strict=True)
        ]
        await save_reports(tx, reports, real_now=resources.clock.now(), ids=resources.ids)
        latest: dict[ItemKey, tuple[str, datetime]] = {}
        pairs = zip(lines, references, strict=True)
        for each, reference in sorted(pairs, key=lambda pair: pair[0].at):
            if reference is not None:
                key = (reference.merchant_id, reference.communication_id)
                latest[key] = (each.status, each.at)
        await save_statuses(tx, latest)

    async def _refuse(self, provider: PrintProvider, name: str, digest: bytes, reason: str) -> None:
        log.error("status file refused", provider=provider.name, reason=reason)
        async with self._resources.database.transaction() as tx:
            await save_refused_file(
                tx, provider.name, _escape_name(name), digest,
                reason=reason, real_now=self._resources.clock.now(),
            )  # fmt: skip
        await provider.letter_folder.move(
            f"{STATUS}/{name}", f"{REFUSED}/{_make_name_unique(name, digest)}"
        )


def _build_report(provider: PrintProvider, line: StatusLine, reference: Reference | None) -> Report:
    state, cause, reason = _REPORT_BY_STATUS[line.status]
    return Report(
        provider=provider.name,
        provider_message_id=f"{line.reference}/{line.status.lower()}",
        state=state,
        happened_at=line.at,
        reference=reference,
        reason=reason,
        cause=cause,
        raw=line.raw,
    )


def _make_name_unique(name: str, digest: bytes) -> str:
    """Return a name that differs for different files of the same name, so that no earlier file is
    replaced. Long names lose their beginning."""
    kept = name.encode(errors="surrogateescape")[-_MAX_NAME_BYTES:]
    return f"{digest[:4].hex()}-{kept.decode(errors='surrogateescape')}"


def _escape_name(name: str) -> str:
    """Return the name in valid Unicode, because the bytes of a file name need not be valid text."""
    return name[:_MAX_NAME_BYTES].encode(errors="backslashreplace").decode()
