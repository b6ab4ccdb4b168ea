"""A merchant with the data of a working day: claims in every state, disputes, a requested plan,
payments, notes, and texts that contain markup characters."""

from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.cases.disputes.dispute import ClaimDispute
from dunwell.cases.modalities.modality import ModalityType
from dunwell.cases.payments.record_payment import NewPayment, record_payment
from dunwell.cases.replies.receive_reply import ReplyOutcome, receive_reply
from dunwell.cases.replies.reply import NewReply
from dunwell.contact.escalation.end_claim import archive_claim
from dunwell.contact.sending.report import Reference
from dunwell.core.claims.claim_holds import pause_claim
from dunwell.core.claims.notes import add_note
from tests.support.definitions import a_definition
from tests.support.disputes import dispute, give_evidence
from tests.support.files import a_written_pdf, an_image
from tests.support.harness import Harness

# Must be shown literally on every page.
MARKUP = '<b>bold</b> & "quoted" <script>alert(1)</script>'
_PEOPLE = (
    ("Erika", "Mustermann"), ("Jürgen", "Weißhaupt-Österreicher"), ("Anna", "Schmidt"),
    ("Mehmet", "Şahin"), ("Nguyễn", "Thị Minh Khai"), ("Karl-Heinz", "von der Mühlen"),
    ("Fatima", "Al-Sayed"), ("Ola", "Nordmann"), ("Zoë", "Müller"), ("Max", "<i>Kursiv</i>"),
)  # fmt: skip


@dataclass(frozen=True)
class PortalData:
    harness: Harness
    claim_ids: list[int]
    # The dispute of the first claim, with evidence.
    disputed: ClaimDispute
    file_id: UUID
    plan_id: UUID
    plan_claim_id: int

    @property
    def claim_id(self) -> int:
        return self.claim_ids[0]


async def create_portal_data(harness: Harness) -> PortalData:
    await harness.publish(a_definition())
    claim_ids = list[int]()
    for number, (given, last) in enumerate(_PEOPLE):
        claim_ids += await harness.create(
            f"RE-2026-{1000 + number}", debtorName=given, debtorLastName=last,
            email=f"debtor{number}@example.org", customerNumber=f"K-{70000 + number}",
        )  # fmt: skip
    await harness.run()
    first, second, third, fourth, fifth = claim_ids[:5]
    opened = await dispute(harness, first, message=f"I have sent it back. {MARKUP}")
    file_id = await give_evidence(
        harness, opened, "Sendungsnachweis (Kopie).pdf", a_written_pdf(15, "Sendungsnachweis")
    )
    await give_evidence(
        harness,
        opened,
        "IMG_20260214_a-very-long-name-of-a-photograph.jpg",
        an_image("JPEG", 900, 1600),
    )
    async with harness.work() as work:
        await pause_claim(work, second, reason="Waits for the lawyer's word")
        await add_note(work, first, f"Called at 10:40, nobody there. {MARKUP}")
        await record_payment(work, third, NewPayment(10240, "EUR", "bank-1"))
        await record_payment(work, first, NewPayment(2000, "EUR", "bank-2"))
        await archive_claim(work, fourth)
    await _answer(harness, first)
    plan_id = await _ask_for_plan(harness, fifth)
    return PortalData(harness, claim_ids, opened, file_id, plan_id, fifth)


async def _answer(harness: Harness, claim_id: int) -> None:
    """Record an e-mail from the debtor in reply to the newest message."""
    [row] = await harness.rows(
        "SELECT communication_id FROM communications WHERE merchant_id = $1 AND claim_id = $2",
        claim_id,
    )
    reply = NewReply(
        provider="post",
        provider_message_id="1",
        reference=Reference(harness.merchant.merchant_id, row["communication_id"]),
        subject="Re: Reminder",
        text=f"I have sent it back, as I wrote before.\nPlease look at the slip. {MARKUP}",
        file_names=["Sendungsnachweis.jpg"],
        is_automatic=False,
        raw=b"as it came",
    )
    async with harness.work(SYSTEM) as work:
        assert await receive_reply(work, harness.resources.keys, reply) is ReplyOutcome.NEW


async def _ask_for_plan(harness: Harness, claim_id: int) -> UUID:
    """Request a plan of three instalments that waits for the merchant's decision."""
    plan_id = harness.resources.ids.new(harness.clock.now())
    first_on = harness.clock.now().date() + timedelta(days=14)
    await harness.rows(
        "INSERT INTO payment_modalities (merchant_id, modality_id, claim_id, type, amount_cents,"
        " paid_before_cents, requested_at, actor_kind) VALUES ($1, $2, $3, $4, 10240, 0, $5,"
        " 'DEBTOR')",
        plan_id, claim_id, ModalityType.PAYMENT_PLAN, harness.clock.now(),
    )  # fmt: skip
    for number, cents in enumerate((3414, 3413, 3413), 1):
        due_on: date = first_on + timedelta(days=30 * (number - 1))
        await harness.rows(
            "INSERT INTO instalments (merchant_id, modality_id, number, due_on, amount_cents)"
            " VALUES ($1, $2, $3, $4, $5)",
            plan_id, number, due_on, cents,
        )  # fmt: skip
    return plan_id
