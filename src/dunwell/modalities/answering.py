"""What the merchant's two answers to a request have in common: finding it, and refusing."""

from uuid import UUID

from dunwell.claims.access import access_claim
from dunwell.claims.states import Status
from dunwell.errors import InvalidState, NotFound
from dunwell.merchants.account import Work
from dunwell.modalities.modality import EndReason, Modality, ModalityState, check_answer
from dunwell.modalities.progress import decide_course, local_date
from dunwell.modalities.store import load_modality


async def lock_modality(work: Work, claim_id: int, modality_id: UUID) -> tuple[Modality, Status]:
    """The modality, its claim being locked, and the claim's status. Raises NotFound."""
    claim = await access_claim(work, claim_id)
    modality = await load_modality(work.tx, work.merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound(f"There is no payment modality {modality_id}.")
    return modality, claim.status


async def lock_request(
    work: Work, claim_id: int, modality_id: UUID, answer: ModalityState
) -> tuple[Modality, bool]:
    """The modality, and whether the answer changes it.

    Raises NotFound, and InvalidState where it cannot be given: it has ended, also when nobody has
    noted that yet, or the other answer was given.
    """
    modality, status = await lock_modality(work, claim_id, modality_id)
    if not check_answer(modality, answer):
        return modality, False
    today = local_date(work.now, work.merchant.configuration.timezone)
    course = decide_course(modality, status, today)
    if isinstance(course, EndReason):
        raise InvalidState(_say_ended(course, status), state=str(course))
    return modality, True


def _say_ended(reason: EndReason, status: Status) -> str:
    if reason is EndReason.PASSED:
        return "The first date that was asked for is over, and with it the request."
    return f"There is nothing left to answer: the claim is {status}."
