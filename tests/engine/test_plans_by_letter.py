"""Debtors with only a postal address are notified by letter about a plan or a deferral.

The letter has a greeting, the amount, the account and the reference, in the debtor's language, and
is sent once.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ChannelSetup, QuietHours
from dunwell.cases.modalities.limits import PlanTerms
from dunwell.contact.messages.identities import render_postal_address
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import ACCEPTED, answer, dispute
from tests.support.harness import ScriptedChannel
from tests.support.letters import PrintedLetter
from tests.support.modalities import DEFERMENT, OFFERING, PLAN, Arrangement, an_arrangement
from tests.support.notice_sending import a_notice_writer, send_due_notices
from tests.support.payments import PAYING

ADDRESS = {"street": "Heidestraße 17", "postalCode": "51147", "city": "Köln", "country": "DE"}
BY_POST = msgspec.structs.replace(
    OFFERING, channels=OFFERING.channels | {"LETTER": ChannelSetup(adapter="outbox")}
)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Nine in the morning in Berlin, on the day after the first instalment and at the end of its grace
# period.
MISSED = datetime(2026, 3, 17, 8, tzinfo=UTC)
BROKEN = datetime(2026, 3, 24, 8, tzinfo=UTC)
_GUARDS = "SELECT count(*) AS number FROM contact_guards WHERE merchant_id = $1"
IBAN = "DE02 1203 0000 0000 2020 51"


async def an_arrangement_by_letter(
    resources: Resources, clock: MovableClock, configuration: Any = BY_POST, **debtor: Any
) -> Arrangement:
    """Return an arrangement whose debtor has no e-mail address and no mobile number."""
    channels = [ScriptedChannel(channel=each) for each in ("EMAIL", "SMS", "LETTER")]
    return await an_arrangement(
        resources, clock, configuration=configuration, channels=channels,
        debtor={
            "email": None, "address": ADDRESS, "salutation": "MS", "language": "de", **debtor,
        },
    )  # fmt: skip


def letters(arrangement: Arrangement) -> list[Any]:
    return arrangement.harness.channels[2].sent


async def run_until(arrangement: Arrangement, until: datetime) -> None:
    """Advance hour by hour and run everything that falls due."""
    harness = arrangement.harness
    while harness.clock.now() < until:
        await arrangement.sweep_at(min(until, harness.clock.now() + HOUR))
        await send_due_notices(harness)


def read(letter: Any, folder: Path) -> tuple[str, list[str]]:
    """Return the printed words in one line, and the payment codes of the letter."""
    assert letter.document is not None
    path = folder / f"{letter.communication_id}.pdf"
    path.write_bytes(letter.document.content)
    printed = PrintedLetter(path)
    assert "\f" not in printed.text().strip(), "one page"
    text = " ".join(printed.text().split())
    assert "_" not in text, "no mask is left"
    return text, [code for code in printed.codes() if code.startswith("BCD")]


def list_transfer(letter: Any) -> list[str]:
    """Return the lines of the letter's text that describe the transfer."""
    return list(letter.body_text.strip().splitlines()[-4:])


@pytest.mark.parametrize(
    ("language", "says", "pays"),
    [
        (
            "de",
            (
                "Sehr geehrte Frau Mustermann,", "Ihre Ratenzahlung", "16. März 2026: 34,14 €",
                "Insgesamt sind das 102,40 €", "Mit freundlichen Grüßen", "Per Überweisung zahlen",
            ),
            [
                "Empfänger: Nordwind", f"IBAN: {IBAN}", "Betrag: 34,14\u00a0€",
                "Verwendungszweck: INV-1001",
            ],
        ),
        (
            "en",
            (
                "Dear Ms Mustermann,", "Your payment plan for INV-1001 is agreed.",
                "16 March 2026: €34.14", "The total is €102.40", "Kind regards",
                "Pay by bank transfer",
            ),
            [
                "Recipient: Nordwind", f"IBAN: {IBAN}", "Amount: €34.14",
                "Payment reference: INV-1001",
            ],
        ),
    ],
)  # fmt: skip
async def test_an_agreed_plan_is_confirmed_by_letter(
    resources: Resources, clock: MovableClock, tmp_path: Path, language: str, says: tuple[str, ...],
    pays: list[str],
) -> None:  # fmt: skip
    arrangement = await an_arrangement_by_letter(resources, clock, language=language)
    await arrangement.agree(PLAN)
    await send_due_notices(arrangement.harness)
    [letter] = letters(arrangement)
    text, [payment] = read(letter, tmp_path)
    for part in (*says, "Heidestraße 17", "51147 Köln", IBAN):
        assert part in text, text
    assert "EUR34.14" in payment.splitlines()
    assert list_transfer(letter) == pays
    # A debtor reached only by letter gets no reminders.
    assert "erinnern" not in text
    assert "remind" not in text


async def test_a_request_is_not_confirmed_by_letter(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement_by_letter(resources, clock)
    await arrangement.ask(PLAN)
    await send_due_notices(arrangement.harness)
    assert letters(arrangement) == []


async def test_a_missed_instalment_and_a_broken_plan_are_notified_by_letter(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> None:
    arrangement = await an_arrangement_by_letter(resources, clock)
    await arrangement.agree(PLAN)
    await arrangement.harness.pay(arrangement.claim_id, 1000)
    await run_until(arrangement, MISSED - HOUR)
    assert len(letters(arrangement)) == 1
    await run_until(arrangement, MISSED + DAY)
    [_, missed] = letters(arrangement)
    text, [payment] = read(missed, tmp_path)
    for part in (
        "Sehr geehrte Frau Mustermann,", "24,14 € waren am 16. März 2026 fällig.",
        "bis zum 23. März 2026", IBAN,
    ):  # fmt: skip
        assert part in text, text
    assert "EUR24.14" in payment.splitlines()
    assert list_transfer(missed)[-2:] == ["Betrag: 24,14\u00a0€", "Verwendungszweck: INV-1001"]

    await run_until(arrangement, BROKEN + DAY)
    [_, _, broken] = letters(arrangement)
    text, [payment] = read(broken, tmp_path)
    for part in (
        "Sehr geehrte Frau Mustermann,", "Offen sind noch 92,40 €.", IBAN,
    ):  # fmt: skip
        assert part in text, text
    assert "EUR92.40" in payment.splitlines()
    assert list_transfer(broken)[-2:] == ["Betrag: 92,40\u00a0€", "Verwendungszweck: INV-1001"]
    # The quiet day may be over when a letter arrives.
    assert "Einen Tag lang" not in text


@pytest.mark.parametrize(
    ("terms", "is_approved", "says"),
    [
        (DEFERMENT, True, "bis zum 31. März 2026"),
        (DEFERMENT, False, "Dem können wir nicht zustimmen."),
        (PLAN, False, "Dem können wir nicht zustimmen."),
    ],
)
async def test_every_other_answer_to_a_request_is_sent_by_letter(
    resources: Resources, clock: MovableClock, tmp_path: Path, terms: Any, is_approved: bool,
    says: str,
) -> None:  # fmt: skip
    arrangement = await an_arrangement_by_letter(resources, clock)
    asked = await arrangement.ask(terms)
    if is_approved:
        await arrangement.approve(asked.modality_id)
    else:
        await arrangement.reject(asked.modality_id, "Das ist uns zu lang.")
    await send_due_notices(arrangement.harness)
    [letter] = letters(arrangement)
    text, [payment] = read(letter, tmp_path)
    for part in ("Sehr geehrte Frau Mustermann,", says, "102,40 €", IBAN):
        assert part in text, text
    assert ("Das ist uns zu lang." in text) is not is_approved
    assert "EUR102.40" in payment.splitlines()


async def test_a_merchant_without_a_bank_account_points_to_the_page(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> None:
    methods = PAYING.payment.methods
    payment = msgspec.structs.replace(BY_POST.payment, bank_account=None, methods=methods)
    configuration = msgspec.structs.replace(BY_POST, payment=payment)
    arrangement = await an_arrangement_by_letter(resources, clock, configuration)
    await arrangement.agree(DEFERMENT)
    await send_due_notices(arrangement.harness)
    text, codes = read(letters(arrangement)[0], tmp_path)
    assert "Sie können auf Ihrer Seite zahlen." in text
    assert "Konto" not in text
    assert codes == []


async def test_the_letter_asks_for_no_payment_when_a_dispute_has_closed_the_claim(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> None:
    arrangement = await an_arrangement_by_letter(resources, clock)
    opened = await dispute(arrangement.harness, arrangement.claim_id)
    await answer(arrangement.harness, opened, ACCEPTED)
    text, codes = read(letters(arrangement)[-1], tmp_path)
    assert "Sehr geehrte Frau Mustermann," in text
    assert IBAN not in text
    assert codes == []


async def test_each_letter_about_a_plan_is_sent_once(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement_by_letter(resources, clock)
    approved = await arrangement.agree(PLAN)
    await arrangement.approve(approved.modality_id)
    for _ in range(3):
        await send_due_notices(arrangement.harness)
    await run_until(arrangement, MISSED + 2 * DAY)
    await send_due_occasions(resources, a_notice_writer(arrangement.harness))
    ids = [each.communication_id for each in letters(arrangement)]
    assert len(ids) == len(set(ids)) == 2


async def test_the_same_letter_is_sent_after_a_two_day_outage_of_the_print_service(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement_by_letter(resources, clock)
    arrangement.harness.channels[2].answers = [Temporary(2 * 86_400)]
    await arrangement.agree(PLAN)
    await send_due_notices(arrangement.harness)
    clock.advance(2 * DAY + HOUR)
    await send_due_notices(arrangement.harness)
    first, second = letters(arrangement)
    assert (first.communication_id, first.document) == (second.communication_id, second.document)


async def test_a_letter_is_sent_only_when_email_and_sms_do_not_work(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement_by_letter(resources, clock, email="erika@example.org")
    await arrangement.agree(PLAN)
    await send_due_notices(arrangement.harness)
    assert letters(arrangement) == []
    arrangement.harness.channels[0].answers = [Permanent("no such mailbox")] * 2
    await arrangement.withdraw((await arrangement.harness.rows(_NEWEST))[0]["modality_id"])
    await arrangement.agree(PlanTerms(2, PLAN.first_on))
    await send_due_notices(arrangement.harness)
    assert len(letters(arrangement)) == 1


async def test_a_suppressed_postal_address_gets_no_letter(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement_by_letter(resources, clock)
    provider = render_postal_address(
        {"street": "Heidestraße 17", "postal_code": "51147", "city": "Köln"}
    )
    async with arrangement.harness.work() as work:
        await suppress(work, resources.keys, "LETTER", provider, "OPERATOR")
    await arrangement.agree(PLAN)
    await run_until(arrangement, MISSED + DAY)
    assert letters(arrangement) == []


async def test_letters_about_a_plan_observe_quiet_hours_and_count_in_no_guard(
    resources: Resources, clock: MovableClock
) -> None:
    """Nine o'clock is within quiet hours here; the letter is sent at ten, as an e-mail would be."""
    guards = msgspec.structs.replace(BY_POST.guards, quiet_hours=QuietHours("20:00", "10:00"))
    configuration = msgspec.structs.replace(BY_POST, guards=guards)
    arrangement = await an_arrangement_by_letter(resources, clock, configuration)
    await arrangement.agree(PLAN)
    await run_until(arrangement, MISSED + HOUR / 2)
    assert len(letters(arrangement)) == 1
    await run_until(arrangement, MISSED + HOUR + HOUR / 2)
    assert len(letters(arrangement)) == 2
    [counted] = await arrangement.harness.rows(_GUARDS)
    assert counted["number"] == 0


_NEWEST = """
SELECT modality_id FROM payment_modalities WHERE merchant_id = $1 ORDER BY requested_at DESC
"""
