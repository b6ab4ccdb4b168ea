"""A description of the environment of a result: machine, versions, and the server's durability
settings."""

import importlib.metadata
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import psutil

from bench.environment import Ground

_PACKAGES = ("starlette", "uvicorn", "uvloop", "msgspec", "asyncpg", "aiohttp")
_REFERENCES = ("pgqueuer", "procrastinate", "celery", "psycopg")
_SETTINGS = (
    "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers",
    "max_wal_size",
)  # fmt: skip


async def describe_machine(ground: Ground) -> list[str]:
    """Return one line for each fact."""
    async with ground.database.connection() as connection:
        server = await connection.fetchval("SHOW server_version")
        settings = [f"{name} {await connection.fetchval(f'SHOW {name}')}" for name in _SETTINGS]
    memory = psutil.virtual_memory().total / 2**30
    return [
        f"Date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC. Commit: {_find_commit()}.",
        (
            f"Machine: {os.cpu_count()} cores of {_find_processor()}, {memory:.0f} GiB memory, "
            f"{platform.system()} {platform.release()}; load before the run "
            f"{os.getloadavg()[0]:.1f}."
        ),
        f"PostgreSQL {server}, embedded, on the same machine: {', '.join(settings)}.",
        f"Python {platform.python_version()}, {_list_versions(_PACKAGES)}.",
        f"References: {_list_versions(_REFERENCES)}, pgbench of the same PostgreSQL.",
    ]


def _list_versions(packages: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)


def _find_processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _find_commit() -> str:
    """Return the current commit, and whether files have been changed since."""
    here = Path(__file__).parent
    name = _ask_git(here, "rev-parse", "--short", "HEAD")
    if not name:
        return "none yet"
    return f"{name}, with changes" if _ask_git(here, "status", "--porcelain") else name


def _ask_git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
