"""What bank statements and reports on orders say about direct debits."""

from datetime import UTC, datetime, timedelta

import pytest

from dunwell.cases.direct_debit.debit_values import Collection as Debit
from dunwell.cases.direct_debit.debit_values import CollectionState, Mandate
from dunwell.cases.direct_debit.files.deliver_files import deliver_debit_files
from dunwell.cases.modalities.modality import ModalityEndReason
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.core.claims.states import ACTIVE
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import build_detail, build_entry
from tests.support.debit_plans import NOTICE, BankFolder, Debits, deliver_first, start
from tests.support.statements import StatementHarness, build_credit, build_file

_PAYMENTS = """
SELECT provider_name, amount_cents, returned_cents
FROM payments
WHERE merchant_id = $1
ORDER BY provider_name DESC
"""
_REJECTION = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>
<GrpHdr><MsgId>S1</MsgId><CreDtTm>2026-03-12T08:00:00</CreDtTm></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>{message}</OrgnlMsgId><OrgnlMsgNmId>pain.008.001.08</OrgnlMsgNmId>
{group}</OrgnlGrpInfAndSts>{more}</CstmrPmtStsRpt></Document>"""


class DebitsAtBank:
    """A delivered debit, and the merchant's bank statements."""

    def __init__(self, debits: Debits, mandate: Mandate, first: Debit) -> None:
        self.debits, self.mandate, self.first = debits, mandate, first
        self.bank = StatementHarness(debits.arrangement.harness)

    async def load(
        self, reason: str | None = None, *, amount: str = "34.14", again: str = ""
    ) -> None:
        """Import an entry of the debit: credited or, with a reason, returned. `again` is added to
        the bank's reference, so that the entry is not the same as an earlier one."""
        kind = "CRDT" if reason is None else "DBIT"
        more = "" if reason is None else f"<RtrInf><Rsn><Cd>{reason}</Cd></Rsn></RtrInf>"
        details = build_detail(amount, "INV-1001, 1", kind=kind, more=more)
        details = details.replace("E2E-1", self.first.end_to_end_id)
        entry = build_entry(amount, kind=kind, reference=f"R-{reason}{again}", details=details)
        await self.bank.load(build_file(entry))

    async def report(self, group: str, more: str = "") -> None:
        rows = await self.bank.harness.rows(
            "SELECT message_id FROM debit_files WHERE merchant_id = $1"
        )
        content = _REJECTION.format(message=rows[0]["message_id"], group=group, more=more)
        await self.bank.load(content.encode())

    async def state(self) -> CollectionState:
        return (await self.debits.states(self.mandate))[0]

    async def list_payments(self) -> list[tuple[str, int, int]]:
        rows = await self.bank.harness.rows(_PAYMENTS)
        return [tuple(row) for row in rows]


@pytest.fixture
async def at_bank(resources: Resources, clock: MovableClock) -> DebitsAtBank:
    debits = await start(resources, clock)
    at_bank = DebitsAtBank(debits, *await deliver_first(debits))
    await at_bank.bank.save()
    return at_bank


async def test_a_credited_debit_is_booked_once_as_direct_debit(at_bank: DebitsAtBank) -> None:
    for _ in range(2):
        await at_bank.load()
    assert await at_bank.state() is CollectionState.COLLECTED
    assert await at_bank.list_payments() == [("DIRECT_DEBIT", 3414, 0)]
    assert [row["rule"] for row in await at_bank.bank.matches()] == ["MANDATE"]
    assert await at_bank.bank.states() == [("MATCHED", 3414)]


async def test_a_returned_debit_reverses_its_payment_once(at_bank: DebitsAtBank) -> None:
    await at_bank.load()
    for _ in range(2):
        await at_bank.load("MD06")
    assert await at_bank.state() is CollectionState.RETURNED
    assert await at_bank.list_payments() == [("DIRECT_DEBIT", 3414, 3414)]
    matches = await at_bank.bank.matches()
    assert sorted(row["rule"] for row in matches) == ["MANDATE", "RETURN"]


async def test_a_return_with_an_unknown_code_is_left_to_a_person(at_bank: DebitsAtBank) -> None:
    await at_bank.load()
    await at_bank.load("XX99")
    assert await at_bank.state() is CollectionState.COLLECTED
    assert len(await at_bank.bank.opened()) == 1


async def test_a_debit_whose_return_comes_before_its_credit_books_no_payment(
    at_bank: DebitsAtBank,
) -> None:
    await at_bank.load("MD06")
    await at_bank.load()
    assert await at_bank.state() is CollectionState.RETURNED
    assert await at_bank.list_payments() == []
    assert await at_bank.bank.states() == [("RETURNED", 3414), ("MATCHED", 3414)]


async def test_a_further_credit_of_a_debit_is_a_payment_of_its_claim(
    at_bank: DebitsAtBank,
) -> None:
    await at_bank.load()
    await at_bank.load(again="B")
    assert await at_bank.list_payments() == [
        ("DIRECT_DEBIT", 3414, 0), ("BANK_TRANSFER", 3414, 0),
    ]  # fmt: skip
    assert await at_bank.bank.states() == [("MATCHED", 3414)] * 2


async def test_a_second_return_of_a_debit_is_left_to_a_person(at_bank: DebitsAtBank) -> None:
    await at_bank.load()
    await at_bank.load("MD06")
    await at_bank.load("MD06", again="B")
    assert await at_bank.list_payments() == [("DIRECT_DEBIT", 3414, 3414)]
    assert [state for state, _ in await at_bank.bank.states()] == ["MATCHED", "RETURNED", "OPEN"]


async def test_another_amount_is_left_to_a_person_with_the_claim_suggested(
    at_bank: DebitsAtBank,
) -> None:
    await at_bank.load(amount="34.13")
    assert await at_bank.state() is CollectionState.DELIVERED
    assert await at_bank.list_payments() == []
    (opened,) = await at_bank.bank.opened()
    assert [each.rule for each in opened.suggestions] == ["REFERENCE"]


async def test_a_credit_after_a_rejection_is_left_to_a_person(at_bank: DebitsAtBank) -> None:
    await at_bank.report(f"<GrpSts>RJCT</GrpSts>{_REASON}")
    await at_bank.load()
    assert await at_bank.list_payments() == []
    assert await at_bank.bank.states() == [("OPEN", 0)]


@pytest.mark.parametrize("is_mandate", [True, False])
async def test_a_transfer_that_names_a_debit_or_mandate_pays_its_claim(
    at_bank: DebitsAtBank, *, is_mandate: bool
) -> None:
    number = at_bank.mandate.reference if is_mandate else at_bank.first.end_to_end_id
    await at_bank.bank.load(build_file(build_credit("34.14", f"Lastschrift {number.lower()}.")))
    assert await at_bank.state() is CollectionState.DELIVERED
    assert await at_bank.list_payments() == [("BANK_TRANSFER", 3414, 0)]
    (match,) = await at_bank.bank.matches()
    assert (match["rule"], match["claim_id"]) == ("MANDATE", at_bank.first.claim_id)


_REASON = "<StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf>"


async def test_a_rejected_order_rejects_its_debits(at_bank: DebitsAtBank) -> None:
    await at_bank.report(f"<GrpSts>RJCT</GrpSts>{_REASON}")
    assert await at_bank.state() is CollectionState.RETURNED
    assert await at_bank.list_payments() == []


async def test_a_file_is_delivered_when_the_bank_answers_before_its_delivery_is_recorded(
    resources: Resources, clock: MovableClock
) -> None:
    folder = BankFolder()
    debits = await start(resources, clock, deliver_to="bank")
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    await debits.release()
    at_bank = DebitsAtBank(debits, mandate, (await debits.collections(mandate))[0])
    await at_bank.bank.save()
    # What the bank does not have yet, it cannot reject.
    await at_bank.report("<GrpSts>RJCT</GrpSts>")
    assert await at_bank.state() is CollectionState.RELEASED

    async def deliver() -> None:
        await deliver_debit_files(resources, lambda _: folder)  # type: ignore[arg-type,return-value]

    # As if the worker was killed after the file got its final name.
    folder.failures["after"] = RuntimeError("killed")
    with pytest.raises(RuntimeError):
        await deliver()
    await at_bank.report("<GrpSts>RJCT</GrpSts>", more=" ")
    assert await at_bank.state() is CollectionState.RETURNED
    files = dict(folder.files)
    clock.move_to(clock.now() + timedelta(minutes=6))
    await deliver()
    assert (await at_bank.state(), folder.files) == (CollectionState.RETURNED, files)


async def test_an_accepted_order_books_nothing(at_bank: DebitsAtBank) -> None:
    await at_bank.report("<GrpSts>ACSC</GrpSts>")
    assert await at_bank.state() is CollectionState.DELIVERED
    assert await at_bank.list_payments() == []


_MOVED = """
SELECT kind, booked_cents, review_reason FROM payment_movements
WHERE merchant_id = $1 ORDER BY kind DESC
"""


async def list_movements(at_bank: DebitsAtBank) -> list[tuple[str, int, str | None]]:
    return [tuple(row) for row in await at_bank.bank.harness.rows(_MOVED)]


@pytest.mark.parametrize("reason", ["", _REASON.replace("AC04", "XT99")])
async def test_a_rejection_without_a_known_reason_rejects_the_debit(
    at_bank: DebitsAtBank, reason: str
) -> None:
    await at_bank.report(f"<GrpSts>RJCT</GrpSts>{reason}")
    (first, *_) = await at_bank.debits.collections(at_bank.mandate)
    assert (first.state, first.return_reason) == (CollectionState.RETURNED, "NARR")
    # The rejection says nothing about the next debit.
    assert (await at_bank.debits.states(at_bank.mandate))[1] is CollectionState.PLANNED


async def test_a_rejection_without_a_known_reason_reverses_no_payment(
    at_bank: DebitsAtBank,
) -> None:
    await at_bank.load()
    await at_bank.report("<GrpSts>RJCT</GrpSts>")
    assert await at_bank.list_payments() == [("DIRECT_DEBIT", 3414, 0)]
    assert await at_bank.state() is CollectionState.COLLECTED


async def test_a_return_in_a_report_and_on_a_statement_counts_once_with_one_period_of_grace(
    at_bank: DebitsAtBank, clock: MovableClock
) -> None:
    clock.move_to(datetime(2026, 3, 18, 8, tzinfo=UTC))
    await at_bank.report(f"<GrpSts>RJCT</GrpSts>{_REASON.replace('AC04', 'AM04')}")
    clock.move_to(datetime(2026, 3, 20, 8, tzinfo=UTC))
    await at_bank.load("AM04")
    await at_bank.report(f"<GrpSts>RJCT</GrpSts>{_REASON.replace('AC04', 'AM04')}")
    assert await at_bank.state() is CollectionState.RETURNED
    assert await at_bank.list_payments() == []
    assert str((await at_bank.debits.look()).schedule[0].missed_after) == "2026-03-18"


async def test_a_report_changes_only_the_debits_of_its_order(at_bank: DebitsAtBank) -> None:
    status = (
        "<OrgnlPmtInfAndSts><OrgnlPmtInfId>X-1</OrgnlPmtInfId><TxInfAndSts><OrgnlEndToEndId>"
        f"{at_bank.first.end_to_end_id}</OrgnlEndToEndId><TxSts>RJCT</TxSts>{_REASON}"
        "</TxInfAndSts></OrgnlPmtInfAndSts>"
    )
    content = _REJECTION.format(message="DD0000000000000000000000", group="", more=status)
    await at_bank.bank.load(content.encode())
    assert await at_bank.state() is CollectionState.DELIVERED
    await at_bank.report("", status)
    assert await at_bank.state() is CollectionState.DELIVERED


@pytest.mark.parametrize("status", ["WITHDRAWN", "ARCHIVED"])
async def test_a_return_after_the_end_of_the_claim_is_shown_to_a_clerk(
    at_bank: DebitsAtBank, status: str
) -> None:
    await at_bank.load()
    await at_bank.bank.harness.rows(
        "UPDATE claims SET status = $2, due_at = NULL WHERE merchant_id = $1", status
    )
    await at_bank.load("MD06")
    assert await at_bank.list_payments() == [("DIRECT_DEBIT", 3414, 3414)]
    assert (await at_bank.debits.status()).value == status
    assert await list_movements(at_bank) == [
        ("PAID", 3414, None), ("CHARGED_BACK", 3414, "CLAIM_ENDED"),
    ]  # fmt: skip


async def test_a_return_of_a_debit_whose_payment_was_reversed_is_shown_to_a_clerk(
    at_bank: DebitsAtBank,
) -> None:
    await at_bank.load()
    [row] = await at_bank.bank.harness.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1"
    )
    async with at_bank.bank.harness.work() as work:
        await reverse_payment(work, at_bank.first.claim_id, row["payment_id"])
    await at_bank.load("MD06")
    assert await at_bank.list_payments() == [("DIRECT_DEBIT", 3414, 3414)]
    assert ("CHARGED_BACK", 0, "NOTHING_TO_RETURN") in await list_movements(at_bank)


async def test_a_return_after_the_plan_was_paid_is_owed_again(
    at_bank: DebitsAtBank,
) -> None:
    await at_bank.load()
    await at_bank.bank.harness.pay(at_bank.first.claim_id, 6826)
    await sweep_modalities(at_bank.bank.harness.resources)
    assert (await at_bank.debits.look()).ended_reason is ModalityEndReason.FULFILLED
    await at_bank.load("MD06")
    assert (await at_bank.debits.status()) in ACTIVE
    assert (
        await at_bank.bank.harness.read(at_bank.first.claim_id)
    ).balance.outstanding_cents == 3414
    assert (await at_bank.debits.look()).ended_reason is ModalityEndReason.FULFILLED
