"""The child process that parses untrusted files. Started as `python -m
dunwell.core.files.inspection_child`."""

import codecs
import io

import msgspec
import pikepdf
from PIL import Image

from dunwell.core.files.cleaning import clean_file
from dunwell.core.files.inspection import InspectionResult
from dunwell.platform.children.child import confine_process, serve
from dunwell.platform.errors import UnsupportedMediaType

_MEMORY_BYTES = 768 * 1024 * 1024
_CPU_SECONDS_PER_FILE = 8
# Encodings of texts in pictures and documents.
_ENCODINGS = ("ascii", "latin-1", "utf-8", "utf-16", "utf-16-be", "utf-16-le", "pdfdoc")


def main() -> None:
    """Answer requests until the parent exits."""
    _preload()
    confine_process(_MEMORY_BYTES, _CPU_SECONDS_PER_FILE)
    serve(_inspect, _CPU_SECONDS_PER_FILE)


def _preload() -> None:
    """Import modules and open files now, because the sandbox forbids opening files."""
    Image.init()
    for name in _ENCODINGS:
        codecs.lookup(name)
    # An encrypted document opens the source of random numbers, which stays open.
    encrypted = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.save(encrypted, encryption=pikepdf.Encryption(owner="owner", user=""))
    clean_file(encrypted.getvalue())


def _inspect(content: bytes) -> bytes:
    try:
        cleaned = clean_file(content)
        result = InspectionResult(content_type=cleaned.content_type, content=cleaned.content)
    except UnsupportedMediaType as refusal:
        result = InspectionResult(refusal=refusal.message)
    return msgspec.msgpack.encode(result)


if __name__ == "__main__":
    main()
