"""Notes of users on a claim. A note is never changed."""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.texts import find_unprintable

MAX_NOTE_LENGTH = 4_000
_SAVE = """
INSERT INTO claim_notes (merchant_id, note_id, claim_id, written_at, actor_kind, actor_id, text)
VALUES ($1, $2, $3, $4, $5, $6, $7)
"""


async def add_note(work: Work, claim_id: int, text: str) -> None:
    """Add a note. Raises NotFound, ValidationError."""
    work.require(Right.CHANGE_CLAIMS)
    _check_text(text)
    await lock_claim_of_merchant(work, claim_id)
    note_id = work.ids.new(work.now)
    await work.tx.execute(
        _SAVE, work.merchant_id, note_id, claim_id, work.now, work.actor.kind, work.actor.actor_id,
        text,
    )  # fmt: skip
    await save_audit(
        work, "note.add", f"claim:{claim_id}", after={"text": MASKED}, noteId=str(note_id)
    )


def _check_text(text: str) -> None:
    faults = list(find_unprintable(text, ("text",)))
    if not text.strip():
        faults.append(Fault("/text", "Write something.", "REQUIRED"))
    elif len(text) > MAX_NOTE_LENGTH:
        faults.append(Fault("/text", f"Use at most {MAX_NOTE_LENGTH} characters.", "TOO_LONG"))
    if faults:
        raise ValidationError(faults)
