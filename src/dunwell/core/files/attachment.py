"""A file attached to a claim, as its merchant sees it. Pure."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.audit_fields import MASKED
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.platform.errors import Fault, InvalidState, NotFound, UnknownTicket, ValidationError

# CONTRACT 1.
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
    def audited(self) -> dict[str, object]:
        """As the audit log tells of it; its names are people's words."""
        return {
            "ticket": str(self.ticket_id), "contentType": self.content_type,
            "sizeBytes": self.size_bytes, "friendlyName": MASKED,
        }  # fmt: skip


def check_attachable(status: Status) -> None:
    """Raises InvalidState: a claim that has ended gets no further files."""
    if status not in ACTIVE:
        raise InvalidState(
            f"A claim that is {status} gets no files any more; those it has can be read and "
            "deleted.",
            state=str(status),
        )


def check_space(count: int) -> None:
    """Raises ValidationError when a claim with so many attachments takes no further one."""
    if count >= MAX_ATTACHMENTS:
        message = (
            f"The claim has {count} attachments; {MAX_ATTACHMENTS} are the most it takes. Delete "
            "or replace one."
        )
        raise ValidationError([Fault("", message, "TOO_MANY")])


def no_attachment(attachment_id: UUID) -> NotFound:
    return NotFound(f"There is no attachment {attachment_id}.")


def unknown_ticket(source: str) -> UnknownTicket:
    return UnknownTicket(
        "No usable upload has this ticket; upload the file again and use the new ticketId.",
        ticketIds=[source],
    )
