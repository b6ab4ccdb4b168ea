"""What the claim's page announces in each state, compared with what happens."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dunwell.cases.modalities.limits import PlanTerms
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.contact.messages.suppression import suppress
from dunwell.core.claims.claim_holds import expire_holds
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.disputes import REJECTED, dispute, resolve
from tests.support.documents import read_text
from tests.support.landing import LandingHarness, a_landing
from tests.support.modalities import DEFERMENT, OFFERED, PLAN, Arrangement
from tests.support.notice_sending import send_due_notices
from tests.support.payments import PAYING
from tests.support.recorded_statements import a_counted_database

DAY = timedelta(days=1)
CONFIGURATION = msgspec.structs.replace(PAYING, modalities=OFFERED)
STILL = "erheben wir keine Gebühren und fordern Sie nicht zur Zahlung auf."


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> Any:
    """The claim's first message was sent on Monday, 2 March 2026."""
    async with a_landing(resources, clock, configuration=CONFIGURATION) as landing:
        await landing.payments.harness.run()
        yield landing


async def read_announcements(landing: LandingHarness, language: str = "de") -> str:
    """Return the section in one line."""
    if landing.browser.cookie is None:
        await landing.browser.type_code(await landing.give_code())
    page = await landing.browser.get(f"/claim?lang={language}")
    assert page.status_code == 200
    return _find_announcements(page.text)


def _find_announcements(page: str) -> str:
    _, _, behind = page.partition('<section aria-labelledby="next">')
    section, _, _ = behind.partition("</section>")
    return read_text(section)


async def hold(landing: LandingHarness, kind: str, days: int | None) -> None:
    harness, now = landing.payments.harness, landing.payments.now
    await harness.rows(
        "WITH held AS (UPDATE claims SET held = true WHERE merchant_id = $1 AND claim_id = $2)"
        " INSERT INTO holds (merchant_id, claim_id, hold_id, kind, since, until, actor_kind)"
        " VALUES ($1, $2, $3, $4, $5, $6, 'SYSTEM')",
        landing.claim_id, harness.resources.ids.new(now), kind, now,
        None if days is None else now + timedelta(days=days),
    )  # fmt: skip


async def test_an_open_claim_shows_the_next_contacts_with_their_dates(
    landing: LandingHarness,
) -> None:
    assert await read_announcements(landing) == (
        "So geht es weiter Wenn sich nichts ändert: Am 9. März 2026 kommt eine Gebühr von "
        "2,50 € hinzu. Am 23. März 2026 enden unsere Mahnungen. Der Betrag bleibt offen; "
        "Nordwind entscheidet dann, wie es weitergeht. Wenn Sie vorher alles bezahlen, geschieht "
        "nichts davon."
    )
    assert await read_announcements(landing, "en") == (
        "What happens next If nothing changes: On 9 March 2026, a fee of €2.50 will be added. On "
        "23 March 2026, our reminders end. The amount is still owed; Nordwind will decide what to "
        "do next. If you pay the full amount before then, none of this will happen."
    ).replace("9 March 2026", "9 March 2026").replace("23 March 2026", "23 March 2026")


async def test_the_engine_does_what_the_page_has_announced(
    landing: LandingHarness, clock: MovableClock
) -> None:
    harness = landing.payments.harness
    await harness.publish(_repeating(), "Repeating")
    [claim_id] = await harness.create("INV-2")
    page = await landing.visitor().open(await landing.give_link(claim_id=claim_id))
    before = _find_announcements(page.text)
    await harness.run_until(clock.now() + 40 * DAY)
    sent = [m.created_at for m in harness.channels[0].sent if m.claim_id == claim_id]
    assert [f"{at.day}. {'März' if at.month == 3 else 'April'}" in before for at in sent] == [
        True, True, True,
    ]  # fmt: skip
    assert "Heute schreiben wir Ihnen wieder." not in before
    assert before.count("schreiben wir Ihnen wieder") == len(sent)


def _repeating() -> Any:
    email = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
    steps: list[dict[str, Any]] = [{"kind": "WAIT", "days": 3}]
    for days in (10, 11, 5):
        steps += [email, {"kind": "WAIT", "days": days}]
    return a_definition(
        steps=[{"id": n, "name": f"Step {n}", **s} for n, s in enumerate(steps, start=1)]
    )


async def test_a_disputed_claim_says_when_it_is_answered_and_that_nothing_happens(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await dispute(landing.payments.harness, landing.claim_id)
    assert await read_announcements(landing) == (
        "So geht es weiter Wir prüfen Ihren Einwand und antworten Ihnen bis zum 16. März 2026."
        f" Bis Sie die Antwort haben, {STILL}"
    )
    clock.advance(20 * DAY)
    landing.browser = landing.visitor()
    assert (
        "Antwort auf Ihren Einwand verspätet sich. Das tut uns leid."
        in await read_announcements(landing)
    )


async def test_after_an_answer_the_page_shows_the_hold_and_what_follows(
    landing: LandingHarness,
) -> None:
    harness = landing.payments.harness
    opened = await dispute(harness, landing.claim_id)
    await resolve(harness, opened, REJECTED)
    await harness.rows(
        "UPDATE holds SET until = since + interval '7 days'"
        " WHERE merchant_id = $1 AND until IS NULL"
    )
    text = await read_announcements(landing)
    assert f"Bis zum 9. März 2026 {STILL} Wenn der Betrag dann noch offen ist:" in text
    assert "Am 9. März 2026 kommt eine Gebühr von 2,50 € hinzu." in text


async def test_nothing_happens_before_a_request_is_answered(landing: LandingHarness) -> None:
    await Arrangement(landing.payments.harness, landing.claim_id).ask(PLAN)
    assert await read_announcements(landing) == (
        "So geht es weiter Wir prüfen Ihre Anfrage und antworten Ihnen bis zum 5. März 2026."
        f" Bis Sie die Antwort haben, {STILL}"
    )


async def test_a_plan_shows_its_next_instalment_and_the_grace_period(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await Arrangement(landing.payments.harness, landing.claim_id).agree(PLAN)
    assert await read_announcements(landing) == (
        "So geht es weiter Bitte zahlen Sie 34,14 € bis zum 16. März 2026. Wenn Sie diesen "
        "Termin verpassen, können Sie noch bis zum 23. März 2026 zahlen. Sonst endet die "
        "Ratenzahlung, und wir können Ihnen wieder Mahnungen schicken und Gebühren erheben. "
        "Solange Sie sich an unsere Vereinbarung halten, erheben wir keine Gebühren."
    )
    clock.advance(17 * DAY)
    landing.browser = landing.visitor()
    text = await read_announcements(landing)
    assert "Eine Rate ist noch nicht eingegangen: 34,14 € waren am 16. März 2026 fällig." in text
    assert "Zahlen Sie bis zum 23. März 2026, dann läuft Ihre Ratenzahlung weiter." in text


async def test_a_deferral_shows_its_end_and_what_follows(landing: LandingHarness) -> None:
    await Arrangement(landing.payments.harness, landing.claim_id).agree(DEFERMENT)
    text = await read_announcements(landing)
    assert f"Bis zum 31. März 2026 {STILL} Wenn der Betrag dann noch offen ist:" in text
    assert "Am 1. April 2026 kommt eine Gebühr von 2,50 € hinzu." in text


async def test_a_link_alone_shows_nothing_of_an_agreement(landing: LandingHarness) -> None:
    await Arrangement(landing.payments.harness, landing.claim_id).agree(PLAN)
    text = _find_announcements((await landing.open()).text)
    assert text == (
        "So geht es weiter Solange Sie sich an unsere Vereinbarung halten,"
        " erheben wir keine Gebühren."
    )


async def test_a_pause_shows_its_end_or_that_nothing_happens(
    landing: LandingHarness,
) -> None:
    await hold(landing, "PAUSE", 10)
    assert f"Bis zum 12. März 2026 {STILL} Wenn der Betrag" in await read_announcements(landing)
    await hold(landing, "PAUSE", None)
    assert await read_announcements(landing) == (
        f"So geht es weiter Solange die Forderung pausiert ist, {STILL}"
    )


async def test_nothing_happens_while_a_payment_is_pending(landing: LandingHarness) -> None:
    await hold(landing, "PAYMENT_PENDING", None)
    assert await read_announcements(landing) == (
        f"So geht es weiter Wir warten auf Ihre Zahlung. So lange {STILL}"
    )


async def test_a_paid_claim_requires_nothing(landing: LandingHarness) -> None:
    await landing.payments.harness.pay(landing.claim_id, 10240)
    assert (await read_announcements(landing)).startswith(
        "So geht es weiter Sie müssen nichts mehr tun."
    )


async def test_a_closed_claim_says_that_nothing_follows(landing: LandingHarness) -> None:
    await read_announcements(landing)
    await landing.payments.end_claim("ARCHIVED")
    page = await landing.browser.get("/claim")
    assert 'id="next"' not in page.text
    assert "und wir schreiben Ihnen dazu nicht mehr." in read_text(page.text)


async def test_an_unassigned_claim_has_no_planned_contacts(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, definition=None) as landing:
        assert await read_announcements(landing) == (
            "So geht es weiter Weitere Nachrichten und Gebühren sind nicht geplant."
        )


async def test_messages_to_a_suppressed_address_are_not_announced(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, configuration=CONFIGURATION) as landing:
        await landing.payments.harness.publish(_repeating(), "Repeating")
        [claim_id] = await landing.payments.harness.create("INV-2")
        before = _find_announcements(
            (await landing.browser.open(await _link(landing, claim_id))).text
        )
        await _suppress(landing)
        after = _find_announcements(
            (await landing.visitor().open(await _link(landing, claim_id))).text
        )
    assert before.count("schreiben wir Ihnen") == 3
    assert after.count("schreiben wir Ihnen") == 0
    assert "enden unsere Mahnungen" in after


async def _link(landing: LandingHarness, claim_id: int) -> str:
    return await landing.give_link(claim_id=claim_id)


async def _suppress(landing: LandingHarness) -> None:
    harness = landing.payments.harness
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, "EMAIL", "erika@example.org", "MERCHANT")


async def test_a_forecast_takes_one_statement_and_none_if_there_is_nothing_to_forecast(
    resources: Resources, clock: MovableClock
) -> None:
    async with (
        a_counted_database(resources, clock, connections=2) as (over, statements),
        a_landing(over, clock, configuration=CONFIGURATION) as landing,
    ):
        await landing.payments.harness.run()

        async def count() -> int:
            await read_announcements(landing)  # The connections load the types of the statements.
            await statements.take()
            await read_announcements(landing)
            return len(await statements.take())

        counts = [await count()]
        await hold(landing, "PAUSE", 5)
        counts.append(await count())
        await hold(landing, "PAUSE", None)
        counts.append(await count())
    assert counts == [2, 2, 1]


async def test_a_broken_plan_is_shown_first_with_what_follows(
    landing: LandingHarness, clock: MovableClock
) -> None:
    harness = landing.payments.harness
    plan = await Arrangement(harness, landing.claim_id).agree(PLAN)
    await harness.pay(landing.claim_id, 1000)
    clock.advance(22 * DAY)
    await sweep_modalities(harness.resources)
    assert await read_announcements(landing) == (
        "So geht es weiter Wir schreiben Ihnen, dass Ihre Ratenzahlung beendet ist. Bis "
        "mindestens einen Tag nach dieser Nachricht geschieht nichts weiter. Danach können wir "
        "Ihnen wieder Mahnungen schicken und Gebühren erheben."
    )
    await send_due_notices(harness)
    text = await read_announcements(landing)
    assert f"Bis zum 25. März 2026 {STILL} Wenn der Betrag dann noch offen ist:" in text
    assert "Am 25. März 2026 kommt eine Gebühr von 2,50 € hinzu." in text
    page = await landing.browser.get("/claim")
    assert "ruht" not in read_text(page.text)
    assert _find_ended_plan_notice(page.text) == (
        "Ihre Ratenzahlung ist seit dem 24. März 2026 beendet. 24,14 € waren am 16. März 2026 "
        "fällig und sieben Tage später noch nicht eingegangen. Ihre Zahlungen werden Ihnen "
        "angerechnet. Bis zum 25. März 2026 geschieht nichts weiter. Danach können wir Ihnen "
        "wieder Mahnungen schicken und Gebühren erheben. Sie können zahlen oder eine neue "
        "Ratenzahlung oder mehr Zeit anfragen. Beendete Ratenzahlung ansehen"
    )
    assert f"/claim/modality/{plan.modality_id}" in page.text
    by_link = await landing.visitor().open(await landing.give_link())
    assert "24,14" not in by_link.text
    assert (
        "Eine Rate war sieben Tage nach ihrem Termin noch nicht eingegangen."
        in _find_ended_plan_notice(by_link.text)
    )


@pytest.mark.parametrize("has_new_plan", [False, True])
async def test_a_broken_plan_is_shown_for_thirty_days_unless_another_is_agreed(
    landing: LandingHarness, clock: MovableClock, has_new_plan: bool
) -> None:
    harness = landing.payments.harness
    await Arrangement(harness, landing.claim_id).agree(PLAN)
    clock.advance(22 * DAY)
    await sweep_modalities(harness.resources)
    await send_due_notices(harness)
    clock.advance(2 * DAY)
    await expire_holds(harness.resources)
    if has_new_plan:
        again = PlanTerms(3, clock.now().date() + 14 * DAY)
        await Arrangement(harness, landing.claim_id).ask(again)
    else:
        assert "beendet" in await _load_ended_plan_notice(landing)
        clock.advance(28 * DAY)
    assert await _load_ended_plan_notice(landing) == ""


async def _load_ended_plan_notice(landing: LandingHarness) -> str:
    landing.browser = landing.visitor()
    await landing.browser.type_code(await landing.give_code())
    return _find_ended_plan_notice((await landing.browser.get("/claim")).text)


def _find_ended_plan_notice(page: str) -> str:
    _, _, behind = page.partition('id="ended-plan">')
    return read_text(behind.partition("</div>")[0])
