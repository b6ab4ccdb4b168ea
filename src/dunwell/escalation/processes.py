"""The processes of versions, each made once per process of ours: versions never change."""

from uuid import UUID

from dunwell.escalation.schedule import Process, make_process
from dunwell.workflows.versions import Version

_MOST = 2000
_made: dict[tuple[UUID, str], Process] = {}


def find_process(version: Version, merchant_timezone: str) -> Process:
    key = (version.version_id, merchant_timezone)
    process = _made.get(key)
    if process is None:
        if len(_made) >= _MOST:
            _made.clear()
        process = _made[key] = make_process(version.definition, merchant_timezone)
    return process
