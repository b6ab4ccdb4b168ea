"""A contact that is being sent: the facts loaded with its lease, and the message rendered from
them. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.templates.facts import MessageClaim
from dunwell.core.claims.fields import DebtorName


@dataclass(frozen=True, slots=True)
class LeasedContact:
    """A leased contact: its key, and what its step and its claim need afterwards."""

    communication_id: UUID
    claim_id: int
    run: int
    step_id: int
    # The channel's index in the step's list, from 0, or a later free number; see
    # `schedule.find_next_contact`.
    place: int
    channel: Channel
    # Attempts before this one.
    attempts: int
    workflow_key: tuple[UUID, int]
    reference_number: str
    customer_number: str | None
    email: str | None
    mobile_number: str | None
    address: dict[str, Any] | None
    # True if the attachment was missing and the waiting time is over.
    has_waited: bool = False


@dataclass(frozen=True, slots=True)
class PlannedContact:
    """A contact to be rendered, with the facts of its claim as of `claim_version`."""

    contact: LeasedContact
    # Changes with every update of the claim's row.
    claim_version: int
    language: str | None
    claim: MessageClaim
    debtor: DebtorName
    # When the contact could first have been sent; any delay since then is caused by the service.
    ready_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """The stored content of a message. The link token and the codes are masked."""

    recipient: str
    language: str
    subject: str | None
    body_text: str
    body_html: str | None
    # The storage key of a letter's PDF.
    document_key: str | None = None
    # The claim's attachments that are sent with the message, in order.
    attachment_ids: tuple[UUID, ...] = ()
    # The version of the secret key for token, code and digests; None for the current one.
    key_version: int | None = None

    @property
    def parts(self) -> tuple[str | None, ...]:
        """Return the parts that the ledger's content digest covers."""
        return (
            self.language, self.subject, self.body_text, self.body_html, self.document_key,
            *map(str, self.attachment_ids),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RenderedContact:
    planned: PlannedContact
    version_id: UUID
    content: Content
    # The hash of the link token, if the content has a link.
    link_hash: bytes | None
    # The digest of the code, if the content has one.
    code_digest: bytes | None = None
    # The digest of the check code, if the content has one.
    check_digest: bytes | None = None
    # For a letter: the sheet to be printed, with link and code, and the printed PDF.
    sheet: bytes | None = None
    pdf: bytes | None = None
