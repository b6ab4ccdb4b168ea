"""The names of an upload: what debtors see, and what the merchant called the file. Pure."""

import unicodedata
from collections.abc import Iterator
from urllib.parse import quote

from dunwell.platform.errors import Fault

MAX_NAME_LENGTH = 255
_ENDINGS = {
    "application/pdf": (".pdf",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/png": (".png",),
    "image/webp": (".webp",),
}
# Controls, halves of surrogate pairs, line and paragraph separators.
_FORBIDDEN = ("Cc", "Cs", "Zl", "Zp")
# The same, and what is not seen at all.
_UNSHOWN = (*_FORBIDDEN, "Cf", "Cn", "Co")
_LONGEST_TIDY = 120
# They turn the direction of what follows, so that "exe.fdp" reads as a document.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def find_name_faults(friendly_name: str, file_name: str) -> list[Fault]:
    """Faults of the upload form's two names, by the names of its parts (spec, Upload ticket)."""
    return [*_check("friendlyName", friendly_name), *_check("fileName", file_name)]


def tidy_name(given: str) -> str:
    """A stranger's name for a file without what cannot be shown or would deceive: its folders,
    controls, direction marks; too long a one keeps its end, where its ending is."""
    last = given.replace("\\", "/").rpartition("/")[2]
    kept = "".join(c for c in last if unicodedata.category(c) not in _UNSHOWN and c not in _TURNING)
    return " ".join(kept.split())[-_LONGEST_TIDY:] or "-"


def name_for_reader(friendly_name: str, content_type: str) -> str:
    """The name debtors save the file under: the display name with the ending of its type."""
    endings = _ENDINGS[content_type]
    clean = friendly_name.strip().replace("/", "-").replace("\\", "-")
    return clean if clean.lower().endswith(endings) else clean + endings[0]


def render_disposition(name: str) -> str:
    """The header that has a browser save a file under this name and never show it (RFC 6266)."""
    plain = "".join(c if " " <= c <= "~" and c not in '"\\%/' else "_" for c in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _check(part: str, name: str) -> Iterator[Fault]:
    path = f"/{part}"
    if not name.strip():
        yield Fault(path, f"{part} needs a name; give the file one.", "REQUIRED")
    if len(name) > MAX_NAME_LENGTH:
        yield Fault(path, f"Use at most {MAX_NAME_LENGTH} characters.", "TOO_LONG")
    if any(unicodedata.category(c) in _FORBIDDEN or c in _TURNING for c in name):
        message = "Remove line breaks, control characters and direction marks."
        yield Fault(path, message, "CONTROL_CHARACTER")
