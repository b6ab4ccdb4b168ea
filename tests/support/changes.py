"""Events that can change a claim while a message about it is being sent. Each is named after the
operation of the API that causes it, or after its cause otherwise."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.payments.change_items import NewItem, add_fee, add_item, delete_item
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.escalation.end_claim import archive_claim, withdraw_claim
from dunwell.contact.messages.suppression import suppress
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from tests.support.disputes import ACCEPTED, REJECTED, dispute, resolve
from tests.support.harness import Harness
from tests.support.modalities import Arrangement

ClaimOperation = Callable[[Harness, int], Awaitable[Any]]
# What happens to a message that is not sent yet: it is sent with current values, it waits, or it is
# never sent.
MessageFate = Literal["GOES", "WAITS", "NEVER"]
NEW_ADDRESS = "new@example.org"


@dataclass(frozen=True, slots=True)
class Change:
    """A change and its effect. `expected_text` is the text that the message must contain if it is
    sent. The claim has 102.40 EUR open in two items, and 10.00 EUR less if `before` has paid a
    part."""

    operation: ClaimOperation
    message_fate: MessageFate
    expected_text: str = "102,40"
    before: ClaimOperation | None = None


async def _pay_part(harness: Harness, claim_id: int) -> None:
    await harness.pay(claim_id, 1000, f"part-{claim_id}")


async def _pay_all(harness: Harness, claim_id: int) -> None:
    await harness.pay(claim_id, 10240, f"all-{claim_id}")


async def _reverse(harness: Harness, claim_id: int) -> None:
    [row] = await harness.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1 AND claim_id = $2", claim_id
    )
    async with harness.work() as work:
        await reverse_payment(work, claim_id, row["payment_id"])


async def _change_address(harness: Harness, claim_id: int) -> None:
    async with harness.work() as work:
        await change_contact_data(work, claim_id, {"email": NEW_ADDRESS})


async def _add_item(harness: Harness, claim_id: int) -> None:
    async with harness.work() as work:
        await add_item(work, claim_id, NewItem("PRIMARY", 500, "INV-2"))


async def _add_fee(harness: Harness, claim_id: int) -> None:
    async with harness.work() as work:
        await add_fee(work, claim_id, NewItem("DUNNING_FEE", 250))


async def _delete_item(harness: Harness, claim_id: int) -> None:
    items = (await harness.read(claim_id)).items
    async with harness.work() as work:
        await delete_item(work, claim_id, items[1].item_id)


async def _pause(harness: Harness, claim_id: int) -> None:
    async with harness.work() as work:
        await pause_claim(work, claim_id)


async def _pause_and_resume(harness: Harness, claim_id: int) -> None:
    await _pause(harness, claim_id)
    async with harness.work() as work:
        await resume_claim(work, claim_id)


async def _withdraw(harness: Harness, claim_id: int) -> None:
    async with harness.work() as work:
        await withdraw_claim(work, claim_id)


async def _archive(harness: Harness, claim_id: int) -> None:
    async with harness.work() as work:
        await archive_claim(work, claim_id)


async def _dispute_and_reject(harness: Harness, claim_id: int) -> None:
    await resolve(harness, await dispute(harness, claim_id), REJECTED)


async def _dispute_and_accept(harness: Harness, claim_id: int) -> None:
    opened = await dispute(harness, claim_id)
    await resolve(harness, opened, ACCEPTED, end_claim=True)


async def _agree_on_plan(harness: Harness, claim_id: int) -> None:
    await Arrangement(harness, claim_id).agree()


async def _request_plan_and_reject(harness: Harness, claim_id: int) -> None:
    arrangement = Arrangement(harness, claim_id)
    await arrangement.reject((await arrangement.ask()).modality_id)


async def _request_plan(harness: Harness, claim_id: int) -> None:
    await Arrangement(harness, claim_id).ask()


async def _assign(harness: Harness, claim_id: int) -> None:
    rows = await harness.rows(
        "SELECT workflow_id FROM workflows WHERE merchant_id = $1 AND name = 'Other'"
    )
    async with harness.work() as work:
        outcome = await assign_to_workflow(work, rows[0]["workflow_id"], [claim_id])
    assert outcome.failures == []


async def _suppress(harness: Harness, claim_id: int) -> None:
    email = (await harness.read(claim_id)).debtor.email
    assert email is not None
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, "EMAIL", email, "DEBTOR")


CHANGES: dict[str, Change] = {
    "recordPayment": Change(_pay_part, "GOES", "92,40"),
    "recordPayment of all": Change(_pay_all, "NEVER"),
    "reversePayment": Change(_reverse, "GOES", before=_pay_part),
    "changeClaim": Change(_change_address, "GOES"),
    "addItem": Change(_add_item, "GOES", "107,40"),
    "addFee": Change(_add_fee, "GOES", "104,90"),
    "deleteItem": Change(_delete_item, "GOES", "100,00"),
    "pauseClaim": Change(_pause, "WAITS"),
    "resumeClaim": Change(_pause_and_resume, "GOES"),
    "withdrawClaim": Change(_withdraw, "NEVER"),
    "archiveClaim": Change(_archive, "NEVER"),
    "openDispute": Change(dispute, "WAITS"),
    # The debtor is informed of the answer and has some days before the next message.
    "resolveDispute": Change(_dispute_and_reject, "WAITS"),
    "resolveDispute and end": Change(_dispute_and_accept, "NEVER"),
    "asking for a plan": Change(_request_plan, "WAITS"),
    "approvePaymentModality": Change(_agree_on_plan, "WAITS"),
    "rejectPaymentModality": Change(_request_plan_and_reject, "GOES"),
    "assignToWorkflow": Change(_assign, "GOES", "Anderer Ablauf"),
    "an address that is contacted no more": Change(_suppress, "NEVER"),
}
# Operations on a claim that do not change the content of a message, or do so in the same way as
# another operation.
_FILES = "a repeated message takes along the files it was handed over with"
UNCHANGED = {
    "attachFile": _FILES,
    "replaceAttachment": _FILES,
    "deleteAttachment": _FILES,
    "startAssignment": "assigns as assignToWorkflow does, or changes nothing",
    "refundPayment": "orders a refund; only the provider's movement changes the balance",
    "assignToScenario": "assigns as assignToWorkflow does, before the switch",
}
