"""The child process that parses strangers' files: `python -m dunwell.files.inspection_child`."""

import msgspec

from dunwell.errors import UnsupportedMediaType
from dunwell.files.content import clean_file
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
        cleaned = clean_file(content)
        finding = Finding(content_type=cleaned.content_type, content=cleaned.content)
    except UnsupportedMediaType as refusal:
        finding = Finding(refusal=refusal.message)
    return msgspec.msgpack.encode(finding)


if __name__ == "__main__":
    main()
