"""Who answers a request for a plan or deferment: somebody takes it on, gives it to a colleague, or
to nobody. As with disputes, of two who give it away at once the second is told.
"""

from collections.abc import Collection, Mapping
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import Assignee, check_assignment, no_colleague
from dunwell.accounts.users.store import find_assignees
from dunwell.cases.modalities.modality import ModalityState
from dunwell.cases.modalities.store import (
    load_assignee,
    load_assignees,
    load_modality,
    save_assignee,
)
from dunwell.core.claims.access import access_claim
from dunwell.platform.errors import InvalidState, NotFound


async def assign_modality(
    work: Work, claim_id: int, modality_id: UUID, assignee_id: UUID | None, *, known: UUID | None
) -> None:
    """known: whose it was when it was looked at. Giving it to whose it is changes nothing.

    Raises NotFound, InvalidState (nobody waits for an answer), EditConflict, and
    ValidationError for somebody who may not answer here.
    """
    work.need(Right.ANSWER)
    await access_claim(work, claim_id)
    modality = await load_modality(work.tx, work.merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound(f"There is no payment modality {modality_id}.")
    if modality.state is not ModalityState.REQUESTED or modality.ended_at is not None:
        raise InvalidState("There is nothing left to answer.", state=str(modality.state))
    wanted = None
    if assignee_id is not None:
        wanted = (await find_assignees(work.tx, work.merchant_id, [assignee_id])).get(assignee_id)
        if wanted is None:
            raise no_colleague()
    present = await load_assignee(work.tx, work.merchant_id, modality_id)
    if not check_assignment(present, known, wanted):
        return
    await save_assignee(work.tx, work.merchant_id, modality_id, assignee_id)
    await save_audit(
        work, "modality.assign", f"claim:{claim_id}",
        before={"assignee": present and str(present)},
        after={"assignee": assignee_id and str(assignee_id)},
        modalityId=str(modality_id),
    )  # fmt: skip


async def read_assignees(work: Work, modality_ids: Collection[UUID]) -> Mapping[UUID, Assignee]:
    """By the modality's id, of those that are somebody's."""
    work.need(Right.READ_CLAIMS)
    given = await load_assignees(work.tx, work.merchant_id, modality_ids)
    people = await find_assignees(work.tx, work.merchant_id, set(given.values()))
    return {modality_id: people[user_id] for modality_id, user_id in given.items()}
