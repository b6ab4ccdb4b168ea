"""The registry of figures kept outside the API; /metrics shows it beside the API's own."""

from pathlib import Path

from prometheus_client import CollectorRegistry

REGISTRY = CollectorRegistry()


def forget_process(pid: int, folder: Path) -> None:
    """Remove what a process that died showed of itself (its connections, for example) from the
    folder that several processes share; its counts of what was done stay."""
    for path in folder.glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)
