"""An upload on its way: as the form gives it, and after its checks. Pure."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.platform.http.multipart import FileContent

MAX_FILE_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NewUpload:
    """The form's two parts: the name debtors see, and the file under its sender's own name."""

    friendly_name: str
    file_name: str
    content: bytes | FileContent


@dataclass(frozen=True, slots=True)
class PreparedUpload:
    """A checked file whose content is kept; without its row it is no upload yet."""

    merchant_id: int
    ticket_id: UUID
    friendly_name: str
    file_name: str
    content_type: str
    size_bytes: int
    sha256: bytes
    storage_key: str
