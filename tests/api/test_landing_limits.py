"""Wrong letter codes delay their visitor, and wrong facts and sent codes lock their claim."""

from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import a_guarded_landing, read_sent_code, send_links
from tests.support.landing import LandingHarness

_WRONG = "0000-0000-0000"


async def test_a_wrong_letter_code_delays_the_next_attempt(
    landing: LandingHarness, clock: MovableClock
) -> None:
    code, waits = await landing.give_code(), []
    for _ in range(6):
        assert (await landing.visitor().type_code(_WRONG)).status_code == 422
        slowed = await landing.visitor().type_code(code)
        assert slowed.status_code == 429
        waits.append(int(slowed.headers["Retry-After"]))
        clock.advance(timedelta(seconds=waits[-1]))

    assert waits == [1, 2, 4, 8, 10, 10]
    assert "in 10 seconds" in slowed.text
    assert "from this internet connection" in slowed.text
    assert (await landing.visitor().type_code(code)).status_code == 200


async def test_wrong_letter_codes_do_not_delay_facts_from_the_same_address(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "POSTAL_CODE") as landing:
        for _ in range(6):
            await landing.visitor().type_code(_WRONG)
            clock.advance(timedelta(seconds=10))
        await landing.visitor().type_code(_WRONG)
        answer = await landing.visitor().post(await landing.give_link(), fact="20095")
    assert answer.status_code == 303


async def test_five_wrong_facts_lock_only_their_claim(
    resources: Resources, clock: MovableClock, capsys: pytest.CaptureFixture[str]
) -> None:
    async with a_guarded_landing(resources, clock, "POSTAL_CODE") as landing:
        link = await landing.give_link()
        pages = [await landing.visitor().post(link, fact="1") for _ in range(6)]
        code = await landing.visitor().type_code(await landing.give_code())
    assert [page.status_code for page in pages] == [422] * 5 + [429]
    assert code.status_code == 200
    assert capsys.readouterr().out.count("CLAIM_LOCKED") == 1


async def test_sent_codes_and_facts_lock_their_claim_together(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE") as landing:
        link = await landing.give_link()
        await landing.browser.post(f"{link}/send")
        right = await read_sent_code(landing)
        wrong = str((int(right) + 1) % 1_000_000).zfill(6)
        pages = [await landing.visitor().post(f"{link}/code", code=wrong) for _ in range(5)]
        locked = await landing.visitor().post(f"{link}/code", code=right)
    assert [page.status_code for page in pages] == [422] * 5
    assert (locked.status_code, locked.headers["Retry-After"]) == (429, str(30 * 60))


async def test_fifteen_wrong_facts_in_a_day_lock_until_a_new_link_is_requested(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "POSTAL_CODE") as landing:
        link, statuses = await landing.give_link(), []
        for _ in range(16):
            answer = await landing.browser.post(link, fact="1")
            statuses.append(answer.status_code)
            clock.advance(timedelta(minutes=16))
        clock.advance(timedelta(days=3))
        locked = await landing.browser.post(link, fact="20095")
        notice_harness = landing.visitor("203.0.113.5")
        await notice_harness.post("/q/new-link", reference="INV-1001", contact="erika@example.org")
        assert await send_links(landing) == 1
        opened = await landing.browser.post(link, fact="20095")

    assert statuses == [422] * 15 + [429]
    assert (locked.status_code, "Retry-After" in locked.headers) == (429, False)
    assert "neuen Link" in locked.text
    assert 'href="tel:+49401234560"' in locked.text
    assert opened.status_code == 303
