"""Wrong letter codes delay their visitor, and wrong facts and sent codes lock their claim."""

from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import Doorstep
from tests.support.ways import a_guarded_doorstep, read_sent_code, send_links

_WRONG = "0000-0000-0000"


async def test_a_wrong_letter_code_delays_the_next_attempt(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    code, waits = await doorstep.give_code(), []
    for _ in range(6):
        assert (await doorstep.visitor().type_code(_WRONG)).status_code == 422
        slowed = await doorstep.visitor().type_code(code)
        assert slowed.status_code == 429
        waits.append(int(slowed.headers["Retry-After"]))
        clock.advance(timedelta(seconds=waits[-1]))

    assert waits == [1, 2, 4, 8, 10, 10]
    assert "in 10 seconds" in slowed.text
    assert "from this internet connection" in slowed.text
    assert (await doorstep.visitor().type_code(code)).status_code == 200


async def test_wrong_letter_codes_do_not_delay_facts_from_the_same_address(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_doorstep(resources, clock, "POSTAL_CODE") as doorstep:
        for _ in range(6):
            await doorstep.visitor().type_code(_WRONG)
            clock.advance(timedelta(seconds=10))
        await doorstep.visitor().type_code(_WRONG)
        answer = await doorstep.visitor().post(await doorstep.give_link(), fact="20095")
    assert answer.status_code == 303


async def test_five_wrong_facts_lock_only_their_claim(
    resources: Resources, clock: MovableClock, capsys: pytest.CaptureFixture[str]
) -> None:
    async with a_guarded_doorstep(resources, clock, "POSTAL_CODE") as doorstep:
        link = await doorstep.give_link()
        pages = [await doorstep.visitor().post(link, fact="1") for _ in range(6)]
        code = await doorstep.visitor().type_code(await doorstep.give_code())
    assert [page.status_code for page in pages] == [422] * 5 + [429]
    assert code.status_code == 200
    assert capsys.readouterr().out.count("CLAIM_LOCKED") == 1


async def test_sent_codes_and_facts_lock_their_claim_together(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_doorstep(resources, clock, "CODE") as doorstep:
        link = await doorstep.give_link()
        await doorstep.browser.post(f"{link}/send")
        right = await read_sent_code(doorstep)
        wrong = str((int(right) + 1) % 1_000_000).zfill(6)
        pages = [await doorstep.visitor().post(f"{link}/code", code=wrong) for _ in range(5)]
        locked = await doorstep.visitor().post(f"{link}/code", code=right)
    assert [page.status_code for page in pages] == [422] * 5
    assert (locked.status_code, locked.headers["Retry-After"]) == (429, str(30 * 60))


async def test_fifteen_wrong_facts_in_a_day_lock_until_a_new_link_is_requested(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_doorstep(resources, clock, "POSTAL_CODE") as doorstep:
        link, statuses = await doorstep.give_link(), []
        for _ in range(16):
            answer = await doorstep.browser.post(link, fact="1")
            statuses.append(answer.status_code)
            clock.advance(timedelta(minutes=16))
        clock.advance(timedelta(days=3))
        locked = await doorstep.browser.post(link, fact="20095")
        asker = doorstep.visitor("203.0.113.5")
        await asker.post("/q/new-link", reference="INV-1001", contact="erika@example.org")
        assert await send_links(doorstep) == 1
        opened = await doorstep.browser.post(link, fact="20095")

    assert statuses == [422] * 15 + [429]
    assert (locked.status_code, "Retry-After" in locked.headers) == (429, False)
    assert "neuen Link" in locked.text
    assert 'href="tel:+49401234560"' in locked.text
    assert opened.status_code == 303
