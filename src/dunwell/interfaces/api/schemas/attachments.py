"""The files of a claim (CONTRACT 5)."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.core.files.upload import ALLOWED_TYPES
from dunwell.platform.text.wire import Instant, Uuid, Wire


class Attachment(Wire, frozen=True):
    """A file of a claim."""

    id: Uuid
    friendly_name: Annotated[str, Meta(description="The name debtors see and download.")]
    file_name: Annotated[str, Meta(description="The name you uploaded the file under.")]
    content_type: Annotated[str, Meta(description=f"By its content: {', '.join(ALLOWED_TYPES)}.")]
    size: Annotated[int, Meta(ge=1, description="Bytes, as the file is kept and downloaded.")]
    created_at: Annotated[
        Instant, Meta(description="When it was attached; replacing the file does not change it.")
    ]
    state: Annotated[
        Literal["READY"],
        Meta(description="READY: it was checked and can be sent and downloaded."),
    ]


class AttachmentList(Wire, frozen=True):
    """A page of a claim's attachments, newest first."""

    items: list[Attachment]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]
