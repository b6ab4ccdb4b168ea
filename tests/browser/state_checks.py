"""All checks of one state of a page. Each fault begins with the name of its check."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from playwright.async_api import Page

from tests.browser.browser_page import HEIGHT, Visit
from tests.browser.html_checker import HtmlChecker
from tests.browser.layout import (
    MAX_BYTES,
    find_first_action,
    find_summary,
    list_covered,
    list_edgeless,
    list_moving,
    list_translated,
    list_unclear_focus,
    list_unfocused_summaries,
    weigh,
)
from tests.browser.page_checks import (
    FITTING,
    IS_PICTURED,
    keep_screenshot,
    list_loose_ends,
    list_violations,
    measure,
)

# The states of each kind of page with the most different elements.
IN_FORCED_COLOURS = {
    "code-wrong", "link-birth-date-wrong", "link-code-sent", "verify", "real-unconfirmed",
    "claim", "claim-held", "claim-all-at-once", "claim-plan-active", "documents",
    "pay-amount", "pay-method-items", "transfer", "transfer-no-day", "receipt-copied",
    "plan", "plan-errors", "plan-check", "plan-agreed", "help",
    "dispute", "dispute-faults", "dispute-kept", "dispute-sent", "dispute-rejected",
    "preferences", "preferences-no-way-left", "preferences-address-wrong", "preferences-code",
    "preferences-changed",
}  # fmt: skip
# These pages inform, or offer several actions of which none is the primary one.
WITHOUT_ACTION = {
    "absent", "impressum", "imprint", "imprint-in-session", "not-found-anywhere", "real-message",
    "claim-archived", "claim-objection-accepted", "claim-overpaid",
    "claim-paid-with-documents", "claim-withdrawn", "code-locked",
    "dispute", "dispute-accepted", "dispute-accepted-open", "dispute-by-link",
    "dispute-rejected", "dispute-sent", "dispute-sent-refused", "dispute-withdrawn",
    "dispute-files-late", "preferences-address-late",
    "unsubscribe-done", "claim-wrong-person", "claim-person-died",
    "document-lost", "documents", "ended", "help-paused", "help-refused", "link-dead",
    "link-locked", "link-notices", "new-link-often", "new-link-sent", "not-found", "notices",
    "options", "options-none", "preferences", "preferences-changed", "preferences-no-way-left",
    "preferences-sure", "dispute-late", "dispute-unsent", "others", "others-none", "plan-late",
    "stale", "timed-out", "too-large", "transfer-sent",
    "transfer-too-often", "mandate-given",
}  # fmt: skip
# Long forms with many faults or with a saved draft. Their summary is in view at the top.
LONG = {"dispute-faults", "dispute-kept", "dispute-refused", "mandate-errors", "plan-errors"}


async def list_faults(visit: Visit, html_checker: HtmlChecker, name: str) -> list[str]:
    """List the faults of the state. It is viewed in German, and the page is left at 390 pixels."""
    page = visit.page
    return [
        *await _list_faults_sent(visit, html_checker),
        *await _list_faults_seen(page, (320, 1280, 390)),
        *await _list_faults_in_large_letters(page),
        *_name("summary", await list_unfocused_summaries(page)),
        *_name("words not to translate", await list_translated(page)),
        *_name("moves", await list_moving(page)),
        *await _list_faults_of_action(page, name),
        *_name("axe", await list_violations(page)),
        *_name("focus", await list_unclear_focus(page)),
        *await _list_faults_in_forced_colours(page, name),
        *_name("asked", visit.list_strays()),
    ]


async def keep_pictures(page: Page, name: str) -> None:
    """Keep screenshots of a checked state. Taking them adds styles to the page."""
    await keep_screenshot(page, name)
    if IS_PICTURED and name in IN_FORCED_COLOURS:
        await page.emulate_media(forced_colors="active")
        await keep_screenshot(page, f"{name}-forced-colours")
        await page.emulate_media(forced_colors="none")


async def list_faults_in_english(visit: Visit, html_checker: HtmlChecker) -> list[str]:
    """Check the page in English if its address alone leads to it. axe checks the narrowest
    width."""
    page = visit.page
    if visit.document is None or visit.document.request.method != "GET":
        return []
    address = urlsplit(page.url)
    await page.goto(address._replace(query=f"{address.query}&lang=en", fragment="").geturl())
    language = await page.evaluate("document.documentElement.lang")
    found = [
        *_name("language", [language] if language != "en" else []),
        *_name("HTML", await html_checker.list_faults(await visit.read_source())),
        *await _list_faults_seen(page, (390, 320)),
        *_name("axe", await list_violations(page)),
    ]
    return [f"English {each}" for each in found]


def _name(check_page: str, found: Sequence[object]) -> list[str]:
    return [f"{check_page}: {each}" for each in found]


async def _list_faults_sent(visit: Visit, html_checker: HtmlChecker) -> list[str]:
    weight, source = await weigh(visit.page), await visit.read_source()
    return [
        *_name("weight", [weight] if weight > MAX_BYTES else []),
        *_name("HTML", await html_checker.list_faults(source)),
        *_name("loose end", list_loose_ends(source, await visit.read_policy())),
    ]


async def _list_faults_seen(page: Page, widths: Sequence[int]) -> list[str]:
    """List the visible faults at all widths. The page is left at the last one."""
    found = []
    for width in widths:
        await page.set_viewport_size({"width": width, "height": HEIGHT})
        measured = await measure(page)
        found += [f"{key}: {value}" for key, value in measured.items() if value != FITTING[key]]
        found += _name("covered", await list_covered(page))
    return found


async def _list_faults_in_large_letters(page: Page) -> list[str]:
    """WCAG 1.4.4: at twice the text size nothing scrolls sideways."""
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    measured = await measure(page)
    found = [f"{key}: {measured[key]}" for key in ("scrolls", "wide", "broken") if measured[key]]
    await page.evaluate("document.documentElement.removeAttribute('style')")
    return [f"at 200 %: {each}" for each in found]


async def _list_faults_of_action(page: Page, name: str) -> list[str]:
    bottom = await find_first_action(page)
    if bottom is None and name not in WITHOUT_ACTION:
        return ["action: none; if the page only tells, name its state in WITHOUT_ACTION"]
    if bottom is not None and name in WITHOUT_ACTION:
        return ["action: there is one, though WITHOUT_ACTION names the state"]
    seen = await find_summary(page) if name in LONG else bottom
    return [f"action: {seen}"] if (seen or 0) > HEIGHT else []


async def _list_faults_in_forced_colours(page: Page, name: str) -> list[str]:
    await page.evaluate("document.activeElement.blur()")
    await page.emulate_media(forced_colors="active")
    found = _name("edge", await list_edgeless(page))
    if name in IN_FORCED_COLOURS:
        found += _name("axe in forced colours", await list_violations(page))
    await page.emulate_media(forced_colors="none")
    return found
