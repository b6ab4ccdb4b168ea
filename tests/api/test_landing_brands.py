"""Two merchants on one installation: each page has its merchant's look, texts and files."""

import re

import msgspec

from dunwell.accounts.merchants.configuration import Brand, LandingPage, Logo
from dunwell.accounts.merchants.set_up_merchant import change_configuration
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import a_landing
from tests.support.payments import PAYING

_SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


async def test_two_merchants_look_different_on_one_installation(
    resources: Resources, clock: MovableClock
) -> None:
    teal = msgspec.structs.replace(PAYING, brand=Brand(Logo("image/svg+xml", _SVG), "#0b5d57"))
    violet = msgspec.structs.replace(PAYING, brand=Brand(color="#5b2a86"))
    async with (
        a_landing(resources, clock, configuration=teal) as first,
        a_landing(resources, clock, configuration=violet, key="teekontor") as second,
    ):
        looks: list[tuple[str, str, bool]] = []
        for landing in (first, second):
            # One application shows both merchants.
            page = await first.visitor(f"192.0.2.{len(looks)}").open(await landing.give_link())
            [own] = re.findall(r'href="(/claim/brand/[^"]*)"', page.text)
            looks.append((own, (await first.browser.get(own)).text, "<img " in page.text))

    assert looks[0][0] != looks[1][0]
    assert [look[1:] for look in looks] == [
        (":root{--brand:#0b5d57;--brand-deep:#094c47}\n", True),
        (":root{--brand:#5b2a86;--brand-deep:#4a226d}\n", False),
    ]


async def test_a_merchants_text_on_debt_advice_replaces_the_default(
    resources: Resources, clock: MovableClock
) -> None:
    page = LandingPage(advice={"de": "Rufen Sie <b>0800</b> an.\n\nOder: www.rat.example"})
    configuration = msgspec.structs.replace(PAYING, landing_page=page)
    async with a_landing(resources, clock, configuration=configuration) as landing:
        await landing.browser.type_code(await landing.give_code())
        for path in ("/claim", "/claim/help"):
            german = (await landing.browser.get(path)).text
            english = (await landing.browser.get(f"{path}?lang=en")).text

            assert "<p>Rufen Sie &lt;b&gt;0800&lt;/b&gt; an.</p>" in german
            assert "<p>Oder: www.rat.example</p>" in german
            assert "Schuldnerberatung hilft und" not in german
            assert "Debt advice helps, and often costs nothing." in english
            assert "0800" not in english


async def test_a_changed_configuration_applies_to_the_next_page(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, configuration=PAYING) as landing:
        await landing.browser.type_code(await landing.give_code())
        before = (await landing.browser.get("/claim/help")).text
        async with landing.payments.harness.work() as work:
            page = LandingPage(advice={"de": "Rufen Sie 0800 an."})
            changed = msgspec.structs.replace(PAYING, landing_page=page)
            await change_configuration(work, "Südwind", changed)
        after = (await landing.browser.get("/claim/help")).text

    assert (">Nordwind<" in before, ">Südwind<" in before) == (True, False)
    assert (">Nordwind<" in after, ">Südwind<" in after) == (False, True)
    assert "<p>Rufen Sie 0800 an.</p>" in after
