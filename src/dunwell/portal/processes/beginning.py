"""What a new workflow begins with: a copy of another one, or one step to change."""

from typing import Any
from uuid import UUID

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right
from dunwell.workflows.checking import read_definition
from dunwell.workflows.definition import Definition
from dunwell.workflows.store import load_current, load_draft


async def begin_definition(work: Work, like: str, first: str) -> Definition:
    """like: the id of the workflow whose latest version is copied, without one its draft; "": one
    message by e-mail called `first`, in the merchant's language, on weekdays from 9 to 18. Raises
    NotFound."""
    work.need(Right.CONFIGURE)
    if not like:
        return read_definition(_compose(work, first))
    try:
        workflow_id = UUID(like)
    except ValueError:
        raise NotFound("There is no such workflow.") from None
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    newest = current or await load_draft(work.tx, work.merchant_id, workflow_id)
    if newest is None:
        raise NotFound("There is no such workflow.")
    return newest.definition


def _compose(work: Work, first: str) -> dict[str, Any]:
    hours = {"weekdays": ["MON", "TUE", "WED", "THU", "FRI"], "from": "09:00", "to": "18:00"}
    step = {
        "id": 1, "kind": "COMMUNICATION", "name": first, "channel": "EMAIL", "template": first,
    }  # fmt: skip
    language = work.merchant.configuration.language
    return {"settings": {"languages": [language], "contactHours": hours}, "steps": [step]}
