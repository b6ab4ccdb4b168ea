"""What a debtor typed into a form, and the files that go with it, until it is sent.

A session has one draft of a subject. The form that was sent last is remembered with what it made,
so that a second click of the same form makes nothing more. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from dunwell.files.upload import PreparedUpload

# Unsent files of one claim, whoever holds a link to it.
MOST_UNSENT = 40


@dataclass(frozen=True, slots=True)
class DraftFile:
    """By its upload."""

    ticket_id: UUID
    name: str
    size_bytes: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    subject: str
    fields: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[DraftFile] = ()
    # None: no form of this subject was sent yet.
    sent_form: UUID | None = None
    made_id: UUID | None = None

    def find_made(self, form_id: UUID) -> UUID | None:
        """What this form has made when it was sent before."""
        return self.made_id if self.sent_form == form_id else None


@dataclass(frozen=True, slots=True)
class Typed:
    """A form as it came: its id, its fields, the files that came with it."""

    subject: str
    form_id: UUID
    fields: Mapping[str, str]
    uploads: Sequence[PreparedUpload] = ()


def choose_new(
    draft: Draft, uploads: Sequence[PreparedUpload], most: int
) -> tuple[list[PreparedUpload], bool]:
    """Those of the files that the draft takes, and whether there were too many for it. What it has
    already, by content, it does not take again."""
    present = {each.sha256 for each in draft.files}
    chosen: dict[bytes, PreparedUpload] = {}
    for upload in uploads:
        if upload.sha256 not in present:
            chosen.setdefault(upload.sha256, upload)
    space = max(0, most - len(draft.files))
    new = list(chosen.values())
    return new[:space], len(new) > space
