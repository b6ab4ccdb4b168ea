"""The child process that parses strangers' files: `python -m dunwell.files.inspection_child`."""

import msgspec

from dunwell.errors import UnsupportedMediaType
from dunwell.files.content import find_content_type
from dunwell.files.inspection import Finding
from dunwell.kit.child import limit_memory, serve

_MEMORY_BYTES = 768 * 1024 * 1024
_CPU_SECONDS_PER_FILE = 8


def main() -> None:
    """Answer until the parent goes away."""
    limit_memory(_MEMORY_BYTES)
    serve(_inspect, _CPU_SECONDS_PER_FILE)


def _inspect(content: bytes) -> bytes:
    try:
        finding = Finding(content_type=find_content_type(content))
    except UnsupportedMediaType as refusal:
        finding = Finding(refusal=refusal.message)
    return msgspec.json.encode(finding)


if __name__ == "__main__":
    main()
