"""The registry of all metrics outside the API, and the metric that describes the build. /metrics
shows this registry and the API's own."""

import json
import platform
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge

REGISTRY = CollectorRegistry()

UNKNOWN = "unknown"
_BUILD = Gauge(
    "dunwell_build_info", "The running build; the value is always 1.",
    ("version", "commit", "python"), registry=REGISTRY, multiprocess_mode="livemax",
)  # fmt: skip


def remove_process_gauges(pid: int, folder: Path) -> None:
    """Remove the live gauges of a process that has died, such as its connections, from the folder
    that all processes share. Its counters stay."""
    for path in folder.glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)


def set_build_info(commit: str | None) -> None:
    """Set the build metric. Without `commit` from the settings, use the commit that pip recorded
    when it installed from a repository, if it did."""
    version, recorded = _get_installed_version()
    _BUILD.labels(version, commit or recorded or UNKNOWN, platform.python_version()).set(1)


def _get_installed_version() -> tuple[str, str | None]:
    """Return the installed version, and the commit in direct_url.json (PEP 610)."""
    try:
        installed = distribution("dunwell")
    except PackageNotFoundError:
        return UNKNOWN, None
    return installed.version, parse_commit(installed.read_text("direct_url.json"))


def parse_commit(direct_url: str | None) -> str | None:
    origin = json.loads(direct_url or "{}")
    commit: str | None = origin.get("vcs_info", {}).get("commit_id")
    return commit
