"""E-mails as mail programs show them: narrow and wide, in light and dark mode, without images and
without styles."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Page

from dunwell.contact.messages.claim_links import TOKEN_MASK
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.letters.sheet import Picture
from dunwell.contact.messages.templates.rendering import LOGO_ID, render_email
from dunwell.contact.notices.notice_codes import NOTICE_CODE_MASK
from dunwell.contact.sending.channel import MessageImage
from dunwell.contact.sending.logo import embed_logo
from dunwell.core.workflows.definition import EmailTemplate
from dunwell.platform.text.colors import measure_contrast
from tests.browser.page_checks import ROOT, keep_screenshot, list_violations
from tests.domain.test_notice_texts import ALL, write
from tests.support.messages import CLAIM, CREDITOR, some_facts

_BODY = {
    "de": "{{ snippet.greeting }},\n\nbitte zahlen Sie **{{ outstanding }}** für "
    "{{ claim.referenceNumber }}:\n\n{{ items }}\n\n{{ landing.url }}\n\n"
    "Sie können dort auch:\n\n- Raten vereinbaren\n- uns sagen, wenn etwas nicht stimmt\n\n"
    "Freundliche Grüße\n{{ merchant.name }}",
    "en": "{{ snippet.greeting }},\n\nPlease pay **{{ outstanding }}** for "
    "{{ claim.referenceNumber }}.\n\nYou can do so [on your page]({{ landing.url }}) at any time.",
}
_SUBJECT = {
    "de": "Erinnerung: Bitte zahlen Sie {{ outstanding }}",
    "en": "A reminder of {{ claim.referenceNumber }}",
}
_REMINDER = EmailTemplate(subject=_SUBJECT, body=_BODY)
_BRANDED = replace(CREDITOR, color="#0b5d57", has_logo=True)
_MILLIONS = replace(
    CLAIM, reference_number="RECHNUNG-2026-0000123456789-VERTRAG-99", outstanding_cents=9999999999
)
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def _write_all() -> dict[str, str]:
    """Return the HTML of each kind of e-mail, by the name of its screenshot."""
    reminders = {
        "reminder-de": some_facts(creditor=_BRANDED),
        "reminder-long-de": some_facts(creditor=_BRANDED, claim=_MILLIONS),
        "reminder-en": some_facts(),
    }
    mails = {
        name: render_email(_REMINDER, {}, name[-2:], facts).body_html
        for name, facts in reminders.items()
    }
    for number, facts in enumerate(ALL):
        html = write(facts, "de").body_html or ""
        shown = html.replace(NOTICE_CODE_MASK, "482913").replace(
            TOKEN_MASK, "AAAAAAAAAAAAAAAAAAAAAA"
        )
        mails[f"notice-{number:02}-{facts.template}"] = shown
    return mails


_ALL = _write_all()


@pytest.fixture(scope="module")
async def logo() -> AsyncIterator[MessageImage]:
    printer = LetterPrinter(1)
    svg = (ROOT / "examples" / "teekontor.svg").read_bytes()
    yield MessageImage(LOGO_ID, "image/png", await printer.draw_logo(Picture("image/svg+xml", svg)))
    await printer.close()


async def _open(chromium: Browser, html: str, width: int) -> tuple[Page, list[str]]:
    """Open the e-mail. Also return the addresses that it requests."""
    page = await chromium.new_page(viewport={"width": width, "height": 844})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition(",")[0]))
    await page.set_content(html)
    return page, asked


@pytest.mark.parametrize("name", _ALL)
async def test_an_e_mail_is_readable_at_any_width_in_light_and_dark_mode(
    chromium: Browser, logo: MessageImage, name: str
) -> None:
    page, asked = await _open(chromium, embed_logo(_ALL[name], logo), 320)
    found: list[Any] = []
    for width in (320, 390, 700):
        await page.set_viewport_size({"width": width, "height": 844})
        for scheme in _SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            if await page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append((width, scheme, "scrolls"))
            found += [(width, scheme, each) for each in await list_violations(page)]
            if width > 320:
                await keep_screenshot(page, f"mail-{name}-{width}-{scheme}")
    await page.close()
    assert found == []
    assert {each.partition(":")[0] for each in asked} <= {"data", "about"}


async def test_without_images_the_name_replaces_the_logo(chromium: Browser) -> None:
    page, asked = await _open(chromium, _ALL["reminder-de"], 390)
    words = await page.evaluate("document.querySelector('img').alt")
    await keep_screenshot(page, "mail-reminder-de-390-pictures-off")
    await page.close()
    assert words == "Nordwind"
    assert [each for each in asked if each.startswith("http")] == []


# The colors of the text that replaces the logo, and of its background.
_COLORS_OF_NAME = """() => {
  const colors = (e, of) => getComputedStyle(e)[of].match(/[\\d.]+/g).map(Number);
  const hex = color => '#' + color.slice(0, 3).map(e => e.toString(16).padStart(2, '0')).join('');
  const image = document.querySelector('img');
  let ground = image;
  while (colors(ground, 'backgroundColor')[3] === 0) ground = ground.parentElement;
  return [hex(colors(image, 'color')), hex(colors(ground, 'backgroundColor')), image.naturalWidth,
          image.scrollHeight - image.clientHeight];
}"""


@pytest.mark.parametrize("width", [320, 700])
@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize("name", ["Nordwind", "Wohnungsbaugenossenschaft Nordwind am Deich"])
async def test_without_images_the_creditors_name_is_legible(
    chromium: Browser, scheme: Literal["light", "dark"], width: int, name: str
) -> None:
    facts = some_facts(creditor=replace(_BRANDED, name=name))
    page, _asked = await _open(chromium, render_email(_REMINDER, {}, "de", facts).body_html, width)
    await page.emulate_media(color_scheme=scheme)
    color, ground, shown, hidden = await page.evaluate(_COLORS_OF_NAME)
    await keep_screenshot(page, f"mail-pictures-off-{len(name)}-{width}-{scheme}")
    await page.close()
    assert shown == 0
    assert measure_contrast(color, ground) >= 4.5
    assert hidden <= 0


@pytest.mark.parametrize("name", ["reminder-de", "reminder-en"])
async def test_without_styles_one_link_leads_to_the_page(chromium: Browser, name: str) -> None:
    bare = re.sub(r' style="[^"]*"|<style>.*?</style>', "", _ALL[name], flags=re.DOTALL)
    page, _asked = await _open(chromium, bare, 390)
    await keep_screenshot(page, f"mail-{name}-390-without-styles")
    buttons = await page.evaluate(
        "[...document.querySelectorAll('a.button')].map(e => [e.href, e.innerText])"
    )
    await page.close()
    words = {"reminder-de": "Ansehen und zahlen", "reminder-en": "See and pay"}
    assert buttons == [["https://pay.example/q/abc", words[name]]]
