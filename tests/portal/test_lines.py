"""The page of the installation's lines: for whoever operates them, and nobody else."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.escalation.join_reports import join_reports
from dunwell.installation.apply_installation import apply_installation
from dunwell.installation.document import check_installation
from dunwell.kit.clock import MovableClock
from dunwell.kit.resources import Resources
from dunwell.merchants.rights import Role
from dunwell.people.user import Place
from tests.support.application import an_application
from tests.support.house import House, ScriptedLine
from tests.support.lines import a_house_with_a_line, report
from tests.support.portal import sign_in

_LINE: dict[str, Any] = {
    "channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587",
    "pace": {"perSecond": 20},
}  # fmt: skip


async def a_world(resources: Resources, clock: MovableClock) -> tuple[House, ScriptedLine]:
    """Twelve messages that left by the line."""
    await apply_installation(resources, check_installation({"lines": {"post": _LINE}}))
    line = ScriptedLine()
    house = await a_house_with_a_line(resources, clock, line)
    await house.create(*(f"INV-{number}" for number in range(12)))
    await house.run()
    return house, line


@pytest.mark.parametrize("language", ["en", "de"])
async def test_what_left_and_what_came_back_is_shown(
    resources: Resources, clock: MovableClock, language: str
) -> None:
    house, line = await a_world(resources, clock)
    clerk = await sign_in(resources, an_application(resources).app, house)
    await clerk.get(f"?lang={language}")
    quiet = await clerk.get("/portal/lines")
    assert quiet.status_code == 200
    assert 'role="alert"' not in quiet.text
    for number in range(11):
        line.sent.insert(0, line.sent.pop())
        await report(
            house, line, provider_id=str(number), reason="<b>5.7.1</b>", cause="ABOUT_US",
            destination="mail.example",
        )  # fmt: skip
    await report(house, line, provider_id="x<i>", reference=None)
    await join_reports(resources)
    shown = (await clerk.get("/portal/lines")).text
    assert 'role="alert"' in shown
    assert "mail.example" in shown
    assert "&lt;b&gt;5.7.1" in shown
    assert "x&lt;i&gt;" in shown
    words = {"en": "we are refused", "de": "wir werden abgewiesen"}
    assert words[language] in shown
    for later, is_shown in ((timedelta(days=7), True), (timedelta(seconds=1), False)):
        clock.advance(later)
        clerk = await sign_in(resources, an_application(resources).app, house)
        shown = (await clerk.get("/portal/lines")).text
        assert ("<bdi>mail.example<" in shown) is is_shown


async def test_what_waits_is_counted(resources: Resources, clock: MovableClock) -> None:
    house, _ = await a_world(resources, clock)
    house.lines.clear()
    await house.create(*(f"INV-9{number}" for number in range(3)))
    await house.run()
    clock.advance(timedelta(minutes=10))
    clerk = await sign_in(resources, an_application(resources).app, house)
    shown = (await clerk.get("/portal/lines")).text
    assert '<td class="sum">3<span class="under">' in shown


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR, Role.MERCHANT_USER])
async def test_whoever_operates_not_all_merchants_sees_nothing(
    resources: Resources, clock: MovableClock, role: Role
) -> None:
    house, _ = await a_world(resources, clock)
    place = Place(memberships={house.merchant.merchant_id: role})
    clerk = await sign_in(resources, an_application(resources).app, house, place)
    refused = await clerk.get("/portal/lines")
    assert refused.status_code in (403, 404)
    assert "mail.example.com" not in refused.text
    assert "/portal/lines" not in (await clerk.get("")).text
