"""What bank statements and reports on orders say about direct debits."""

import pytest

from dunwell.cases.direct_debit.debit_values import Collection as Debit
from dunwell.cases.direct_debit.debit_values import CollectionState, Mandate
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import build_detail, build_entry
from tests.support.debit_plans import Debits, deliver_first, start
from tests.support.statements import StatementHarness, build_credit, build_file

_PAYMENTS = (
    "SELECT provider_name, amount_cents, returned_cents FROM payments WHERE merchant_id = $1"
)
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
        """Import an entry of the debit: credited or, with a reason, returned. `again` is a text by
        which it is another entry."""
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
    found = DebitsAtBank(debits, *await deliver_first(debits))
    await found.bank.save()
    return found


async def test_a_credited_debit_is_booked_once_as_direct_debit(at_bank: DebitsAtBank) -> None:
    for _ in range(2):
        await at_bank.load()
    assert await at_bank.state() is CollectionState.COLLECTED
    assert await at_bank.list_payments() == [("DIRECT_DEBIT", 3414, 0)]
    assert [row["rule"] for row in await at_bank.bank.matches()] == ["MANDATE"]
    assert await at_bank.bank.states() == [("MATCHED", 3414)]


async def test_a_returned_debit_is_taken_back_once(at_bank: DebitsAtBank) -> None:
    await at_bank.load()
    for _ in range(2):
        await at_bank.load("MD06")
    assert await at_bank.state() is CollectionState.RETURNED
    assert await at_bank.list_payments() == [("DIRECT_DEBIT", 3414, 3414)]
    assert [row["rule"] for row in await at_bank.bank.matches()] == ["MANDATE", "RETURN"]


async def test_a_return_with_an_unknown_code_is_left_to_a_person(at_bank: DebitsAtBank) -> None:
    await at_bank.load()
    await at_bank.load("XX99")
    assert await at_bank.state() is CollectionState.COLLECTED
    assert len(await at_bank.bank.opened()) == 1


async def test_a_return_before_its_credit_settles_it(at_bank: DebitsAtBank) -> None:
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


async def test_an_accepted_order_books_nothing(at_bank: DebitsAtBank) -> None:
    await at_bank.report("<GrpSts>ACSC</GrpSts>")
    assert await at_bank.state() is CollectionState.DELIVERED
    assert await at_bank.list_payments() == []
