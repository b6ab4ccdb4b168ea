"""`dunwell doctor`: check everything that an installation depends on, and suggest remedies."""

import asyncio
import contextlib
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime

import asyncpg
import click

from dunwell.core.files.storage import Storage
from dunwell.interfaces.cli.database import provide_database
from dunwell.interfaces.cli.findings.backups import check_backups
from dunwell.interfaces.cli.findings.banks import check_bank_connections
from dunwell.interfaces.cli.findings.email import check_email_providers
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.interfaces.cli.findings.gateways import check_gateways
from dunwell.interfaces.cli.findings.installation import (
    check_alerts,
    check_proxies,
    check_sign_in,
    check_webhook_networks,
)
from dunwell.interfaces.cli.findings.letters import check_fonts, check_print_providers
from dunwell.interfaces.cli.findings.merchants import (
    check_identities,
    check_merchant_storage,
    check_workflows,
)
from dunwell.interfaces.cli.findings.payments import check_payment_providers
from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.operations.recovery.archive import check_archive
from dunwell.operations.recovery.restore_hold import RestoreHold, find_hold
from dunwell.platform.children.child import Confinement, get_confinement
from dunwell.platform.config import Settings
from dunwell.platform.config.loading import find_ssl_mode
from dunwell.platform.config.private_folder import is_own_folder, list_accessible
from dunwell.platform.config.settings import parse_database_address
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.migrate import load_revisions
from dunwell.platform.database.pool import OpenConnection, connect
from dunwell.platform.embedded.folder_lock import FolderInUse
from dunwell.platform.embedded.postgres import PostgresFailed
from dunwell.platform.errors import Refusal
from dunwell.platform.key_versions import KnownKeyVersion, find_key_mismatch, load_versions

_OLDEST_VERSION, _NEWEST_VERSION = 15, 18
_MAX_SKEW_SECONDS = 2.0
_MIN_FREE_BYTES = 1 << 30
_PROBE_KEY = "0/doctor"
_PROBE = b"written by dunwell doctor, and removed again"


@click.command("doctor")
@data_dir_option
def command(data_dir: str | None) -> None:
    """Check everything that this installation depends on, and suggest remedies. Exit with 1 on a
    fault."""
    # This raises with every fault in the settings.
    settings = read_settings("doctor", data_dir=data_dir)
    findings = [DoctorFinding("settings", f"usable, {settings.profile} profile")]
    findings += [check_tls(settings), check_metrics(settings), *_check_database(settings)]
    findings += [_check_storage(settings), _check_disk(settings), check_folders(settings)]
    findings.append(check_fonts(settings))
    findings.append(describe_confinement(get_confinement()))
    for finding in findings:
        click.echo(f"{finding.mark:<5} {finding.subject:<12} {finding.words}")
        if finding.remedy:
            click.echo(f"      {'':<12} {finding.remedy}")
    if any(finding.is_fault for finding in findings):
        raise SystemExit(1)


def _check_database(settings: Settings) -> list[DoctorFinding]:
    try:
        with provide_database(settings, "doctor") as url:
            version, skew, known = asyncio.run(_load_database_facts(url))
            revision, newest = load_revisions(url)
            server = [
                check_version(version),
                asyncio.run(_detect_pooler(url)),
                check_clocks(skew),
            ]
            if revision != newest:
                # All other checks need the tables of the newest migration.
                return [*server, check_revision(revision, newest)]
            restore_hold = asyncio.run(_find_restore_hold(url))
            archive = asyncio.run(check_archive(settings.archive_dir, url))
            proxies = asyncio.run(check_proxies(url))
            others = [
                *asyncio.run(check_identities(url)),
                *asyncio.run(check_gateways(url, settings)),
                *asyncio.run(check_print_providers(url, settings)),
                *asyncio.run(check_email_providers(url, settings)),
                *asyncio.run(check_payment_providers(url, settings)),
                *asyncio.run(check_bank_connections(url, settings)),
                *asyncio.run(check_sign_in(url, settings)),
                *asyncio.run(check_alerts(url)),
                *asyncio.run(check_workflows(url)),
                *asyncio.run(check_merchant_storage(url, settings)),
                *asyncio.run(check_webhook_networks(url)),
                *asyncio.run(check_backups(url, settings)),
            ]
    except (OSError, PostgresFailed, FolderInUse, asyncpg.PostgresError) as error:
        remedy = "Start it, or correct DUNWELL_DATABASE_URL."
        if settings.database_url is None:
            remedy = f"See {settings.data_dir / 'postgres' / 'postgres.log'}."
        return [DoctorFinding("database", f"does not respond: {error}", remedy)]
    return [
        *server,
        check_revision(revision, newest),
        proxies,
        check_keys(KeyRing(settings.secret_key), known),
        check_restored(restore_hold),
        *others,
        *([] if archive is None else [DoctorFinding("archive", *archive)]),
    ]


async def _load_database_facts(url: str) -> tuple[int, float, Sequence[KnownKeyVersion]]:
    """Return the server's version number, by how many seconds its clock is ahead of this host's,
    and the known versions of the secret key."""
    connection = await _connect(url)
    try:
        before = datetime.now(UTC)
        database_time = await connection.fetchval("SELECT clock_timestamp()")
        middle = before + (datetime.now(UTC) - before) / 2
        known: Sequence[KnownKeyVersion] = ()
        with contextlib.suppress(asyncpg.UndefinedTableError):
            known = await load_versions(connection)
        version = connection.get_server_version().major
        return version, (database_time - middle).total_seconds(), known
    finally:
        await connection.close()


def check_tls(settings: Settings) -> DoctorFinding:
    """Report whether the connection to the database verifies the server."""
    mode = find_ssl_mode(settings.database_url)
    match mode:
        case None:
            return DoctorFinding("database TLS", "not used; the database is on this machine")
        case "verify-full":
            return DoctorFinding("database TLS", "verify-full: the server's name is verified")
        case "verify-ca":
            words = "verifies the certificate's issuer, but not the server's name"
        case "require":
            words = "encrypts without verifying the server"
        case "disable":
            words = "neither encrypts nor verifies the server"
        case _:
            words = "may not encrypt, and does not verify the server"
    return DoctorFinding(
        "database TLS",
        f"sslmode={mode} {words}: an attacker in between can pretend to be it",
        "Use sslmode=verify-full&sslrootcert=FILE in DUNWELL_DATABASE_URL.",
        is_note=True,
    )


def check_metrics(settings: Settings) -> DoctorFinding:
    if settings.operator_bind is not None:
        words = f"/metrics is at http://{settings.operator_bind}, without a login"
        return DoctorFinding("metrics", words)
    if settings.is_development:
        return DoctorFinding("metrics", "the web process serves /metrics, the worker does not")
    remedy = "Set DUNWELL_OPERATOR_BIND for web and worker, such as 127.0.0.1:9100."
    return DoctorFinding("metrics", "/metrics is not served", remedy, is_note=True)


async def _find_restore_hold(url: str) -> RestoreHold | None:
    connection = await _connect(url)
    try:
        with contextlib.suppress(asyncpg.UndefinedTableError):
            return await find_hold(connection)
        return None
    finally:
        await connection.close()


def check_restored(restore_hold: RestoreHold | None) -> DoctorFinding:
    """Report a restored installation that has not been resumed. Until then the worker does
    nothing."""
    if restore_hold is None:
        return DoctorFinding("restore", "no restore waits to be resumed")
    words = (
        f"as of {restore_hold.taken_at:%Y-%m-%d %H:%M:%S} UTC waits to be resumed: nothing is sent"
    )
    return DoctorFinding("restore", words, "Run: dunwell restore --resume --lost-until TIME")


async def _connect(url: str) -> OpenConnection:
    """Connect with the options that a pooler requires, even if the URL names no pooler, so that one
    can be detected."""
    return await connect(url, OpenConnection, timeout=10, statement_cache_size=0)


async def _detect_pooler(url: str) -> DoctorFinding:
    """Detect a pooler: the process id that it reports to a client differs from that of the server
    process."""
    connection = await _connect(url)
    try:
        process_id = await connection.fetchval("SELECT pg_backend_pid()")
        if process_id == connection.get_server_pid():
            return _describe_missing_pooler(url)
        if not parse_database_address(url).is_pooled:
            return await _describe_unnamed_pooler(url)
        words = "there is one, and the database URL names it"
        if not await connection.fetchval("SELECT pg_jit_available()"):
            return DoctorFinding("pooler", words)
        remedy = (
            "ALTER ROLE ... SET jit = off for Dunwell's role, because jit slows its queries down."
        )
        return DoctorFinding(
            "pooler", f"{words}; the database has jit enabled", remedy, is_note=True
        )
    finally:
        await connection.close()


def _describe_missing_pooler(url: str) -> DoctorFinding:
    words = "there is none"
    if not parse_database_address(url).is_pooled:
        return DoctorFinding("pooler", words)
    remedy = "Remove pooler=transaction from DUNWELL_DATABASE_URL: it costs time."
    return DoctorFinding("pooler", f"{words}, but the database URL names one", remedy, is_note=True)


async def _describe_unnamed_pooler(url: str) -> DoctorFinding:
    """Describe a pooler that the URL does not name. It is a fault if the pooler rejects a setting
    that the service sends at the start of a session, because then nothing works."""
    words = "there is one, but the database URL does not name it"
    remedy = (
        "In transaction mode add pooler=transaction to DUNWELL_DATABASE_URL."
        " See docs/operator/running.md."
    )
    try:
        await (await connect(url, OpenConnection, {"jit": "off"}, timeout=10)).close()
    except asyncpg.ProtocolViolationError:
        return DoctorFinding("pooler", words, remedy)
    return DoctorFinding("pooler", words, remedy, is_note=True)


def check_version(version: int) -> DoctorFinding:
    if _OLDEST_VERSION <= version <= _NEWEST_VERSION:
        return DoctorFinding("database", f"responds, PostgreSQL {version}")
    remedy = f"Use PostgreSQL {_OLDEST_VERSION} to {_NEWEST_VERSION}."
    return DoctorFinding("database", f"is PostgreSQL {version}", remedy)


def check_clocks(skew_seconds: float) -> DoctorFinding:
    words = f"the database's clock differs by {skew_seconds:+.1f} s from this host's"
    if abs(skew_seconds) <= _MAX_SKEW_SECONDS:
        return DoctorFinding("clock", words)
    return DoctorFinding("clock", words, "Synchronise the clocks of both hosts with NTP.")


def check_keys(keys: KeyRing, known: Sequence[KnownKeyVersion]) -> DoctorFinding:
    mismatch = find_key_mismatch(keys, known)
    if mismatch is not None:
        return DoctorFinding("secret key", "does not fit the database", mismatch)
    older = [str(each) for each in keys.versions[1:]]
    older_versions = f", older versions: {', '.join(older)}" if older else ""
    return DoctorFinding("secret key", f"version {keys.version} is in use{older_versions}")


def check_revision(revision: str | None, newest: str) -> DoctorFinding:
    if revision == newest:
        return DoctorFinding("migrations", f"at {newest}, the newest")
    if revision is not None and revision > newest:
        words = f"at {revision}, newer than this Dunwell, whose newest is {newest}"
        return DoctorFinding(
            "migrations", words, "Install the version that migrated it, or a newer one."
        )
    words = f"at {revision or 'none'}, the newest is {newest}; other checks need it"
    return DoctorFinding("migrations", words, "Run: dunwell migrate")


def _check_storage(settings: Settings) -> DoctorFinding:
    try:
        is_same_content = asyncio.run(_probe_storage(settings))
    except (OSError, Refusal, ValueError) as error:
        return DoctorFinding("storage", f"does not respond: {error}", "Correct DUNWELL_FILES_URL.")
    if not is_same_content:
        return DoctorFinding(
            "storage", "returns other content than was written", "Use another DUNWELL_FILES_URL."
        )
    return DoctorFinding("storage", "writes, reads and removes")


async def _probe_storage(settings: Settings) -> bool:
    storage = Storage.open(settings.files_url)
    await storage.save(_PROBE_KEY, _PROBE)
    content = await storage.load(_PROBE_KEY)
    await storage.remove(_PROBE_KEY)
    return content == _PROBE


def check_folders(settings: Settings) -> DoctorFinding:
    """Check that other users of this host cannot read the data."""
    first, count = next(list_accessible(settings), None), sum(1 for _ in list_accessible(settings))
    if first is None:
        return DoctorFinding("folders", "not accessible to other users")
    words = f"other users can access {first[0]} ({first[1]:04o}) and {count - 1} more"
    remedy = "Start dunwell as the owner of these files: it removes the access of other users."
    if not is_own_folder(settings.data_dir) or not first[0].is_relative_to(settings.data_dir):
        remedy = f"Run: chmod -R go-rwx {first[0]}"
    return DoctorFinding("folders", words, remedy)


def describe_confinement(confinement: Confinement) -> DoctorFinding:
    """Report the sandbox for parsing files. Its absence is not a fault: limits of memory, time and
    open files still apply."""
    available = [f"Landlock {confinement.landlock}"] if confinement.landlock else []
    available += ["seccomp"] if confinement.has_seccomp else []
    words = (
        f"{' and '.join(available)} confine the processes that parse files"
        if available
        else ("this kernel has neither Landlock nor seccomp; only limits confine file parsing")
    )
    return DoctorFinding("confinement", words)


def _check_disk(settings: Settings) -> DoctorFinding:
    folder = next(each for each in (settings.data_dir, *settings.data_dir.parents) if each.exists())
    free = shutil.disk_usage(folder).free
    words = f"{free / (1 << 30):.1f} GiB free under {folder}"
    if free >= _MIN_FREE_BYTES:
        return DoctorFinding("disk", words)
    return DoctorFinding("disk", words, "Free disk space: a full disk stops the service.")
