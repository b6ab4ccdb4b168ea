"""A contact on its way out: what is known of it when it is leased, and what is made of it. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.templates.facts import MessageClaim
from dunwell.core.claims.fields import DebtorName


@dataclass(frozen=True, slots=True)
class LeasedContact:
    """A contact under lease: its key, and what its step and its claim need to go on."""

    communication_id: UUID
    claim_id: int
    run: int
    step_id: int
    place: int
    channel: Channel
    # Tries before this one.
    tries: int
    process_key: tuple[UUID, int]
    reference_number: str
    customer_number: str | None
    email: str | None
    mobile_number: str | None
    address: dict[str, Any] | None
    # Its attachment was missing, and its time to wait is over.
    has_waited: bool = False


@dataclass(frozen=True, slots=True)
class PlannedContact:
    """A contact to be rendered, with its claim's facts as of `claim_version`."""

    contact: LeasedContact
    claim_version: int
    language: str | None
    claim: MessageClaim
    debtor: DebtorName
    # Since when nothing but the service has kept it from being sent.
    ready_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """What is kept of a message: everything but the link's token and the code, which are masked."""

    recipient: str
    language: str
    subject: str | None
    body_text: str
    body_html: str | None
    # Where a letter's PDF is kept.
    document_key: str | None = None
    # The claim's attachments that go along, in order.
    attachment_ids: tuple[UUID, ...] = ()
    # Of the secret key: what token, code and digests were made with; none: the one in use.
    key_version: int | None = None

    @property
    def parts(self) -> tuple[str | None, ...]:
        """What the ledger's digest of the content covers."""
        return (
            self.language, self.subject, self.body_text, self.body_html, self.document_key,
            *map(str, self.attachment_ids),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RenderedContact:
    planned: PlannedContact
    version_id: UUID
    content: Content
    # Hash of the link's token, if the content bears one.
    link_hash: bytes | None
    # Digest of the code, if the content bears it.
    code_digest: bytes | None = None
    # Digest of the code it can be checked by, the same.
    check_digest: bytes | None = None
    # A letter's: the sheet to be printed, with link and code, then what was printed.
    sheet: bytes | None = None
    pdf: bytes | None = None
