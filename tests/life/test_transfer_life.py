"""The dates of the process after a debtor has announced a bank transfer."""

from datetime import UTC, date, datetime, timedelta

from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.payments import DEBTOR, PaymentHarness, a_payment_harness
from tests.support.transfers import nordwind_with_account

# A Monday, 10:00 in Berlin.
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TOLD = "PAYMENT_IN_PROGRESS"


async def run_until_day(payments: PaymentHarness, day: int) -> list[str]:
    """Run until the end of that day's contact hours and return the types of all events so far."""
    await payments.harness.run_until(START + timedelta(days=day, hours=7))
    return await payments.events()


async def send(payments: PaymentHarness, sent_on: date) -> None:
    async with payments.harness.work(DEBTOR) as work:
        sent = AnnouncedTransfer(PaymentChoice(PaymentChoiceKind.WHOLE, 10240), sent_on)
        await announce_transfer(work, payments.claim_id, sent)


async def test_an_announced_transfer_that_never_arrives_delays_the_fee_by_banking_days(
    resources: Resources, clock: MovableClock
) -> None:
    payments = await a_payment_harness(
        resources, clock, configuration=nordwind_with_account(), definition=a_definition()
    )
    assert await run_until_day(payments, 0) == ["ESCALATED"]
    # The fee is due on Monday, 9 March. On Friday the debtor says that the transfer is sent.
    assert await run_until_day(payments, 4) == ["ESCALATED"]
    await send(payments, date(2026, 3, 6))
    # Nothing happens until the end of Wednesday.
    assert await run_until_day(payments, 9) == ["ESCALATED", TOLD]
    assert (await run_until_day(payments, 10))[:3] == ["ESCALATED", TOLD, "FEE_ADDED"]
