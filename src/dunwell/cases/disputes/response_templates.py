"""A merchant's templates for responses to disputes."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.texts import find_unprintable

MAX_RESPONSE_TEMPLATES = 50
_LIST = """
SELECT template_id, name, text
FROM response_templates
WHERE merchant_id = $1
ORDER BY lower(name), template_id
LIMIT 100
"""
_INSERT = """
INSERT INTO response_templates
    (merchant_id, template_id, name, text, created_at, actor_kind, actor_id)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (merchant_id, name) DO NOTHING
RETURNING template_id
"""
# Uses the primary key.
_DELETE = """
DELETE FROM response_templates WHERE merchant_id = $1 AND template_id = $2 RETURNING name
"""


@dataclass(frozen=True, slots=True)
class ResponseTemplate:
    template_id: UUID
    name: str
    text: str


async def list_response_templates(work: Work) -> Sequence[ResponseTemplate]:
    work.require(Right.READ_CLAIMS)
    rows = await work.tx.fetch(_LIST, work.merchant_id)
    return [ResponseTemplate(**row) for row in rows]


async def add_response_template(work: Work, name: str, text: str) -> None:
    """Add a template. Raises ValidationError, also if the name is taken: no template is
    overwritten."""
    work.require(Right.ANSWER)
    faults = [
        *find_unprintable(name, ("name",)),
        *find_unprintable(text, ("text",)),
        *([] if 0 < len(name) <= 80 else [Fault("/name", "Use 1 to 80 characters.", "NAME")]),
        *([] if 0 < len(text) <= 2000 else [Fault("/text", "Use 1 to 2000 characters.", "TEXT")]),
    ]
    if len(await list_response_templates(work)) >= MAX_RESPONSE_TEMPLATES:
        faults.append(
            Fault("/name", f"There are {MAX_RESPONSE_TEMPLATES} templates; delete one.", "TOO_MANY")
        )
    if faults:
        raise ValidationError(faults)
    saved = await work.tx.fetchval(
        _INSERT, work.merchant_id, work.ids.new(work.real_now), name, text, work.real_now,
        work.actor.kind, work.actor.actor_id,
    )  # fmt: skip
    if saved is None:
        raise ValidationError(
            [Fault("/name", "A response template with this name already exists.", "TAKEN")]
        )
    # Audit actions and subjects keep the stored name answer_text.
    await save_audit(
        work, "answer_text.add", f"answer_text:{saved}", after={"name": name, "text": MASKED}
    )


async def remove_response_template(work: Work, template_id: UUID) -> None:
    """Delete a template. Raises NotFound."""
    work.require(Right.ANSWER)
    name = await work.tx.fetchval(_DELETE, work.merchant_id, template_id)
    if name is None:
        raise NotFound("There is no such response template.")
    before = {"name": name, "text": MASKED}
    await save_audit(work, "answer_text.end", f"answer_text:{template_id}", before=before)
