"""What a debtor has entered into a form, with its files, until it is sent.

A claim has one draft per subject, shared by all sessions. Data that only the person who entered it
may see again is in a draft of the session. A form states the revision that it was made from: saving
a form of an older revision keeps both versions and reports a conflict. The last form that was sent
is remembered with what it created, so that a double click creates nothing more. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

from dunwell.core.files.upload import PreparedUpload

# How long a draft is kept after its last change.
DRAFT_LIFETIME = timedelta(days=30)
# The limit of unsent files of one claim, over all of its sessions.
MAX_UNSENT_FILES = 40
# The limit of conflicting versions that are kept in addition to the draft's own fields.
MAX_VERSIONS = 5
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DraftKey:
    """Identifies a draft. `owner` is the claim (`build_claim_draft_key`) or a session's id."""

    merchant_id: int
    claim_id: int
    owner: UUID
    subject: str


@dataclass(frozen=True, slots=True)
class DraftFile:
    """A file of a draft, identified by its upload."""

    ticket_id: UUID
    name: str
    size_bytes: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class FormDraft:
    subject: str
    fields: Fields = field(default_factory=dict)
    files: Sequence[DraftFile] = ()
    # None if no form of this subject has been sent yet.
    sent_form: UUID | None = None
    created_id: UUID | None = None
    revision: int = 0
    # Conflicting versions: what was typed into forms of an older revision.
    others: Sequence[Fields] = ()

    def find_created(self, form_id: UUID) -> UUID | None:
        """Return the id of what this form has created, or None if it was not the last form sent."""
        return self.created_id if self.sent_form == form_id else None


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """A submitted form: its id, fields and files, and the draft's revision that it was made from.
    The revision is None if the form does not state one."""

    subject: str
    form_id: UUID
    fields: Fields
    uploads: Sequence[PreparedUpload] = ()
    revision: int | None = None


def build_claim_draft_key(merchant_id: int, claim_id: int, subject: str) -> DraftKey:
    return DraftKey(merchant_id, claim_id, UUID(int=claim_id), subject)


def has_conflict(draft: FormDraft, typed: SubmittedForm) -> bool:
    """Return whether the draft contains texts that the form does not know."""
    is_known = typed.revision == draft.revision or typed.fields == draft.fields
    return not is_known and bool(draft.fields or draft.others)


def add_conflicting_version(draft: FormDraft, typed: Fields) -> Sequence[Fields]:
    """Return the conflicting versions with `typed` as the newest."""
    kept = [each for each in draft.others if each != typed]
    return [*kept, typed][-MAX_VERSIONS:] if typed else kept


def put_version_first(draft: FormDraft, typed: Fields) -> FormDraft:
    """Return the draft with `typed` as its fields and all other versions as conflicting ones."""
    versions = [each for each in (draft.fields, *draft.others) if each and each != typed]
    return replace(draft, fields=typed, others=versions)


def select_new_files(
    draft: FormDraft, uploads: Sequence[PreparedUpload], max_files: int
) -> tuple[list[PreparedUpload], bool]:
    """Return the uploads to add to the draft, and whether there were too many. Files whose content
    the draft already has are left out."""
    present = {each.sha256 for each in draft.files}
    chosen: dict[bytes, PreparedUpload] = {}
    for upload in uploads:
        if upload.sha256 not in present:
            chosen.setdefault(upload.sha256, upload)
    space = max(0, max_files - len(draft.files))
    new = list(chosen.values())
    return new[:space], len(new) > space
