"""What a new workflow starts from: a copy of another one, or one message and a wait to change."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.workflows.checking import read_definition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.platform.errors import NotFound

# Long enough for a pay-by date, whatever the weekday and with bank holidays in it.
_WAIT_DAYS = 14


@dataclass(frozen=True, slots=True)
class FirstNames:
    """What the two steps of a new workflow are called, in the user's language."""

    message: str
    wait: str


async def begin_definition(work: Work, like: str, names: FirstNames) -> Definition:
    """Return what a new workflow says.

    like: the id of the workflow whose latest version is copied, without one its draft; "": one
    e-mail in the merchant's language, on weekdays from 9 to 18, and two weeks to pay. Without the
    wait the claim would be archived as soon as the e-mail is sent. Raises NotFound.
    """
    work.need(Right.CONFIGURE)
    if not like:
        return read_definition(_compose(work, names))
    try:
        workflow_id = UUID(like)
    except ValueError:
        raise NotFound("There is no such workflow.") from None
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    newest = current or await load_draft(work.tx, work.merchant_id, workflow_id)
    if newest is None:
        raise NotFound("There is no such workflow.")
    return newest.definition


def _compose(work: Work, names: FirstNames) -> dict[str, Any]:
    hours = {"weekdays": ["MON", "TUE", "WED", "THU", "FRI"], "from": "09:00", "to": "18:00"}
    message = {
        "id": 1, "kind": "COMMUNICATION", "name": names.message, "channel": "EMAIL",
        "template": names.message,
    }  # fmt: skip
    wait = {"id": 2, "kind": "WAIT", "name": names.wait, "days": _WAIT_DAYS}
    language = work.merchant.configuration.language
    return {"settings": {"languages": [language], "contactHours": hours}, "steps": [message, wait]}
