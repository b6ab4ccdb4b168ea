"""The files a debtor gives as evidence: what is known of one, and how many there may be. Pure."""

from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.platform.errors import Fault, ValidationError

# At one time, and of one dispute, what was added later included.
MOST_AT_ONCE = 5
MOST_OF_DISPUTE = 20


class EvidenceFile(msgspec.Struct, frozen=True, gc=False):
    file_id: UUID
    # As its sender called it.
    name: str
    content_type: str
    size_bytes: int
    added_at: datetime
    storage_key: str


def check_evidence_space(present: int, added: int) -> None:
    """Raises ValidationError when a dispute with so many files takes not so many more."""
    if present + added > MOST_OF_DISPUTE:
        message = f"A dispute takes {MOST_OF_DISPUTE} files; {present} are there."
        raise ValidationError([Fault("/files", message, "TOO_MANY")])
