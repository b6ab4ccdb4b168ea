"""What a file is, by its content: its first bytes and a successful parse; and the file written
anew, without what a debtor's reader would run.

The parsers see bytes from strangers and may crash or eat memory, so this runs in the child process
that `inspection` keeps; nothing else calls it but tests. Pure.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass

import pikepdf

from dunwell.core.files.cleaning_images import clean_image
from dunwell.core.files.cleaning_pdfs import clean_pdf
from dunwell.core.files.content_types import JPEG, PDF, PNG, WEBP, refuse
from dunwell.platform.errors import UnsupportedMediaType

MAX_PAGES = 500
# The end mark of a PDF stands in its last kilobyte, as readers expect (ISO 32000, annex H).
_PDF_TAIL_BYTES = 1024


@dataclass(frozen=True, slots=True)
class CleanFile:
    """A file that was written by us, and its type, one of ALLOWED_TYPES."""

    content_type: str
    content: bytes


def clean_file(content: bytes) -> CleanFile:
    """Raises UnsupportedMediaType for every file that is of no type that is taken.

    The type's signature must be the very first bytes: a file that only contains a PDF somewhere is
    none. Its parser must then read it from end to end.
    """
    content_type = _read_signature(content)
    if content_type is None:
        raise refuse("The file's content is of no type that is taken.")
    try:
        cleaned = _CLEANERS[content_type](content)
    except UnsupportedMediaType:
        raise
    except Exception as error:  # parsers of broken files raise anything
        raise refuse(f"The file begins like {content_type} but cannot be read as one.") from error
    return CleanFile(content_type, cleaned)


def _read_signature(content: bytes) -> str | None:
    if content.startswith(b"%PDF-"):
        return PDF
    if content.startswith(b"\xff\xd8\xff"):
        return JPEG
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return WEBP
    return None


def _clean_pdf(content: bytes) -> bytes:
    if b"%%EOF" not in content[-_PDF_TAIL_BYTES:]:
        raise refuse("The PDF does not end where its end mark is.")
    try:
        with pikepdf.open(io.BytesIO(content)) as pdf:
            count = len(pdf.pages)
            if not 0 < count <= MAX_PAGES:
                raise refuse(f"The PDF has {count} pages; 1 to {MAX_PAGES} are taken.")
            return clean_pdf(pdf)
    except pikepdf.PasswordError as error:
        raise refuse("The PDF is protected by a password; remove it.") from error


_CLEANERS: dict[str, Callable[[bytes], bytes]] = {
    PDF: _clean_pdf,
    JPEG: lambda content: clean_image(content, JPEG),
    PNG: lambda content: clean_image(content, PNG),
    WEBP: lambda content: clean_image(content, WEBP),
}
