"""Uploads and files attached to claims, as values: types, names, and how much storage they may
take."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from mimetypes import MimeTypes
from urllib.parse import quote
from uuid import UUID

from dunwell.accounts.merchants.audit_fields import MASKED
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.platform.errors import (
    Fault,
    InvalidState,
    NotFound,
    PayloadTooLarge,
    UnknownTicket,
    UnsupportedMediaType,
    ValidationError,
)
from dunwell.platform.http.multipart import FileContent

PDF, JPEG, PNG, WEBP = "application/pdf", "image/jpeg", "image/png", "image/webp"
ALLOWED_TYPES = (PDF, JPEG, PNG, WEBP)
# Python's own table of types, not the host's.
_BY_NAME = MimeTypes()


def build_file_refusal(message: str) -> UnsupportedMediaType:
    """Build the refusal of a file, which names the accepted types."""
    return UnsupportedMediaType(
        f"{message} Upload a PDF, JPEG, PNG or WebP file.", allowed=list(ALLOWED_TYPES)
    )


def check_claimed_type(file_name: str, content_type: str) -> None:
    """Check that the file's extension matches its content. A name without an extension, or with an
    unknown one, passes. Raises UnsupportedMediaType."""
    _, dot, last = file_name.rpartition(".")
    extension = dot + last.lower()
    claimed = _BY_NAME.types_map[True].get(extension) or _BY_NAME.types_map[False].get(extension)
    if dot and claimed not in (None, content_type):
        raise build_file_refusal(
            f"The file is called {extension} but its content is {content_type}."
        )


MAX_NAME_LENGTH = 255
_EXTENSIONS = {
    "application/pdf": (".pdf",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/png": (".png",),
    "image/webp": (".webp",),
}
# Control characters, surrogates, line and paragraph separators.
_FORBIDDEN_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
# These, and invisible characters.
_REMOVED_CATEGORIES = (*_FORBIDDEN_CATEGORIES, "Cf", "Cn", "Co")
_MAX_FILE_NAME_LENGTH = 120
# These characters change the direction of the following text, so that "exe.fdp" would look like the
# name of a document.
_DIRECTION_MARKS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def find_name_faults(friendly_name: str, file_name: str) -> list[Fault]:
    """Return the faults of the two names in an upload form. The path of a fault is the name of the
    form's part (spec, Upload ticket)."""
    return [
        *_find_faults_of_name("friendlyName", friendly_name),
        *_find_faults_of_name("fileName", file_name),
    ]


def clean_file_name(name: str) -> str:
    """Return an untrusted file name without folders, control characters and direction marks. A long
    name keeps its end with the extension."""
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(
        c
        for c in last
        if unicodedata.category(c) not in _REMOVED_CATEGORIES and c not in _DIRECTION_MARKS
    )
    return " ".join(kept.split())[-_MAX_FILE_NAME_LENGTH:] or "-"


def render_download_name(friendly_name: str, content_type: str) -> str:
    """Return the name under which a browser saves the file: its display name with the extension of
    its type."""
    extensions = _EXTENSIONS[content_type]
    clean = friendly_name.strip().replace("/", "-").replace("\\", "-")
    return clean if clean.lower().endswith(extensions) else clean + extensions[0]


def render_disposition(name: str) -> str:
    """Return the header that makes a browser save the file under this name instead of showing it
    (RFC 6266)."""
    plain = "".join(c if " " <= c <= "~" and c not in '"\\%/' else "_" for c in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _find_faults_of_name(part: str, name: str) -> Iterator[Fault]:
    path = f"/{part}"
    if not name.strip():
        yield Fault(path, f"{part} needs a name; give the file one.", "REQUIRED")
    if len(name) > MAX_NAME_LENGTH:
        yield Fault(path, f"Use at most {MAX_NAME_LENGTH} characters.", "TOO_LONG")
    if any(unicodedata.category(c) in _FORBIDDEN_CATEGORIES or c in _DIRECTION_MARKS for c in name):
        message = "Remove line breaks, control characters and direction marks."
        yield Fault(path, message, "CONTROL_CHARACTER")


MAX_FILE_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NewUpload:
    """The upload form: the name that debtors see, and the file with its original name."""

    friendly_name: str
    file_name: str
    content: bytes | FileContent


@dataclass(frozen=True, slots=True)
class PreparedUpload:
    """A checked file whose content is stored and whose row is not inserted yet."""

    merchant_id: int
    ticket_id: UUID
    friendly_name: str
    file_name: str
    content_type: str
    size_bytes: int
    sha256: bytes
    storage_key: str


# A merchant is notified when its files take this percentage of the storage limit. At the default
# limit of 10 GiB, 2 GiB are then left, which leaves time to delete files or to raise the limit.
NEAR_PERCENT = 80


class StorageFull(PayloadTooLarge):
    """The file does not fit into the merchant's storage."""


@dataclass(frozen=True, slots=True)
class StorageUse:
    used_bytes: int
    limit_bytes: int

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 means full."""
        return 100 * self.used_bytes // self.limit_bytes

    @property
    def is_near_limit(self) -> bool:
        return self.percent >= NEAR_PERCENT

    def check_room(self, size_bytes: int) -> None:
        """Check that a file of this size fits. Raises StorageFull."""
        if self.used_bytes + size_bytes > self.limit_bytes:
            raise StorageFull(
                f"The merchant's files take {self.used_bytes:,} of {self.limit_bytes:,} bytes, and "
                f"this one has {size_bytes:,}. Delete attachments that are no longer needed: about "
                "an hour after the last claim has lost a file, its space is free. Or ask the "
                "operator for more.",
                limit=self.limit_bytes,
                used=self.used_bytes,
            )


# The contract's limit for one claim (CONTRACT 1).
MAX_ATTACHMENTS = 20


@dataclass(frozen=True, slots=True)
class AttachedFile:
    attachment_id: UUID
    ticket_id: UUID
    friendly_name: str
    file_name: str
    content_type: str
    size_bytes: int
    created_at: datetime
    storage_key: str

    @property
    def audit_values(self) -> dict[str, object]:
        """The values for the audit log. Names are free text and therefore masked."""
        return {
            "ticket": str(self.ticket_id), "contentType": self.content_type,
            "sizeBytes": self.size_bytes, "friendlyName": MASKED,
        }  # fmt: skip


def check_attachable(status: Status) -> None:
    """Check that the claim is active. Raises InvalidState."""
    if status not in ACTIVE:
        raise InvalidState(
            f"Files can no longer be added to a claim that is {status}; existing ones can be read "
            f"and deleted.",
            state=str(status),
        )


def check_attachment_count(count: int) -> None:
    """Check that the claim may get another attachment. Raises ValidationError."""
    if count >= MAX_ATTACHMENTS:
        message = (
            f"The claim has {count} attachments; the maximum is {MAX_ATTACHMENTS}. Delete or "
            "replace one."
        )
        raise ValidationError([Fault("", message, "TOO_MANY")])


def build_attachment_not_found(attachment_id: UUID) -> NotFound:
    return NotFound(f"There is no attachment {attachment_id}.")


def build_unknown_ticket(ticket_id: str) -> UnknownTicket:
    return UnknownTicket(
        "No usable upload has this ticket; upload the file again and use the new ticketId.",
        ticketIds=[ticket_id],
    )
