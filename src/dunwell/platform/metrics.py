"""The registry of figures kept outside the API, which /metrics shows beside the API's own, and what
it shows of the process itself.
"""

import json
import platform
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge

REGISTRY = CollectorRegistry()

UNKNOWN = "unknown"
_BUILD = Gauge(
    "dunwell_build_info", "Which build runs; the value is always 1.",
    ("version", "commit", "python"), registry=REGISTRY, multiprocess_mode="livemax",
)  # fmt: skip


def forget_process(pid: int, folder: Path) -> None:
    """Remove what a process that died showed of itself (its connections, for example) from the
    folder that several processes share; its counts of what was done stay."""
    for path in folder.glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)


def show_build(commit: str | None) -> None:
    """commit: as the settings name it; None: as pip noted it when it installed from a repository,
    if it did."""
    version, noted = _find_installed()
    _BUILD.labels(version, commit or noted or UNKNOWN, platform.python_version()).set(1)


def _find_installed() -> tuple[str, str | None]:
    """The version, and the commit that pip notes in direct_url.json (PEP 610)."""
    try:
        installed = distribution("dunwell")
    except PackageNotFoundError:
        return UNKNOWN, None
    return installed.version, read_commit(installed.read_text("direct_url.json"))


def read_commit(direct_url: str | None) -> str | None:
    origin = json.loads(direct_url or "{}")
    commit: str | None = origin.get("vcs_info", {}).get("commit_id")
    return commit
