"""Layout checks: the size of a page, overlapping elements, the focus, the primary action in view,
and borders in forced colors."""

from typing import Any

from playwright.async_api import Page

MAX_BYTES = 15 * 1024
_MAX_TABS = 80
# The size of the page with everything it loads except the merchant's images.
_WEIGH = """() => [...performance.getEntriesByType('navigation'),
                   ...performance.getEntriesByType('resource')]
  .filter(e => !(e.initiatorType === 'img' && e.name.includes('/claim/brand/')))
  .reduce((sum, e) => sum + e.encodedBodySize, 0)"""
# Lines of text and controls that overlap. The boxes of letters are taller than the letters look.
_COVERED = """() => {
  const boxes = [];
  const add = (e, box, gap) => box.width && boxes.push(
    [e, box.left + 1, box.right - 1, box.top + gap, box.bottom - gap]);
  const shown = e => e.checkVisibility({visibilityProperty: true}) && !e.closest('.skip, .warning');
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (!text.data.trim() || !shown(text.parentElement)) continue;
    if (text.parentElement.closest('textarea, option')) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects()) {
      add(text.parentElement, box, box.height * 0.2);
    }
  }
  const things = 'input:not([type=hidden]), textarea, button, img, svg';
  for (const e of document.querySelectorAll(things)) {
    if (shown(e)) add(e, e.getBoundingClientRect(), 1);
  }
  const found = [];
  boxes.forEach((one, at) => {
    for (const other of boxes.slice(at + 1)) {
      const [first, second] = [one[0], other[0]];
      if (first.contains(second) || second.contains(first)) continue;
      if (one[1] < other[2] && other[1] < one[2] && one[3] < other[4] && other[3] < one[4])
        found.push(`${first.outerHTML.slice(0, 80)} | ${second.outerHTML.slice(0, 80)}`);
    }
  });
  return found;
}"""
# null: the focus is outside the page.
_FOCUSED = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  const seen = box.bottom > 0 && box.top < innerHeight;
  const rgba = text => [...text.matchAll(/[\\d.]+/g)].map(found => Number(found[0]));
  const straighten = part => part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([red, green, blue]) =>
    0.2126 * straighten(red) + 0.7152 * straighten(green) + 0.0722 * straighten(blue);
  let ground = [255, 255, 255];
  for (let around = e.parentElement; around; around = around.parentElement) {
    const colour = rgba(getComputedStyle(around).backgroundColor);
    if (colour[3] !== 0) { ground = colour; break; }
  }
  const line = rgba(style.outlineColor);
  const [dark, bright] = [light(line), light(ground)].sort((one, other) => one - other);
  const differs = line[3] !== 0 && (bright + 0.05) / (dark + 0.05) >= 3;
  const lined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && differs;
  const again = e.dataset.focused === 'yes';
  e.dataset.focused = 'yes';
  return {name: e.outerHTML.slice(0, 100), clear: lined && seen, again};
}"""
# The bottom of the primary action, or of the summary of faults.
_BOTTOM = """selector => {
  const found = document.querySelector(selector);
  return found && Math.round(found.getBoundingClientRect().bottom + scrollY);
}"""
_EDGELESS = """() => [...document.querySelectorAll(
    '.primary, .secondary, .quiet, .field input, .field textarea, .date input, .panel, .notice')]
  .filter(e => e.checkVisibility() && (getComputedStyle(e).borderTopStyle === 'none'
                                       || parseFloat(getComputedStyle(e).borderTopWidth) < 1))
  .map(e => e.outerHTML.slice(0, 100))"""

# A summary of faults has the focus when the page has loaded, with and without scripts.
_UNFOCUSED = """() => [...document.querySelectorAll('main .problem')]
  .filter(e => document.activeElement !== e).map(e => e.outerHTML.slice(0, 100))"""
# Texts that a machine translation would change, such as names and numbers.
_TRANSLATED = """() => [...document.querySelectorAll(
    '.brand bdi, .number, bdi.ref, .ref bdi, address bdi, dd[data-copy] bdi:not(.money), '
    + 'a[href^="mailto:"] bdi')]
  .filter(e => e.translate).map(e => e.outerHTML.slice(0, 100))"""
# Elements that move although the reader prefers reduced motion.
_MOVING = """() => [...document.querySelectorAll('*')]
  .filter(e => {
    const style = getComputedStyle(e);
    return [style.transitionDuration, style.animationDuration].join().match(/[1-9]/)
      || style.scrollBehavior === 'smooth';
  }).map(e => e.outerHTML.slice(0, 100))"""


async def weigh(page: Page) -> int:
    """Return the transferred bytes without headers."""
    weight: int = await page.evaluate(_WEIGH)
    return weight


async def list_covered(page: Page) -> Any:
    return await page.evaluate(_COVERED)


async def list_unclear_focus(page: Page) -> list[str]:
    """List elements that the Tab key reaches without a visible focus, or report that it reaches
    none."""
    unclear, reached = [], 0
    for _ in range(_MAX_TABS):
        await page.keyboard.press("Tab")
        focused = await page.evaluate(_FOCUSED)
        if focused is None or focused["again"]:
            break
        reached += 1
        if not focused["clear"]:
            unclear.append(focused["name"])
    return unclear if reached else ["nothing can be reached"]


async def find_first_action(page: Page) -> int | None:
    """Return the position of the bottom of the primary action in pixels. None if there is none."""
    bottom: int | None = await page.evaluate(_BOTTOM, "main .primary")
    return bottom


async def find_summary(page: Page) -> int:
    """Return the position of the bottom of the summary of faults in pixels."""
    bottom: int = await page.evaluate(_BOTTOM, "main .problem")
    return bottom


async def list_edgeless(page: Page) -> Any:
    """List elements without a border in forced colors, which remove all backgrounds."""
    return await page.evaluate(_EDGELESS)


async def list_unfocused_summaries(page: Page) -> Any:
    return await page.evaluate(_UNFOCUSED)


async def list_translated(page: Page) -> Any:
    return await page.evaluate(_TRANSLATED)


async def list_moving(page: Page) -> Any:
    """List elements that move although the reader prefers reduced motion."""
    await page.emulate_media(reduced_motion="reduce")
    found = await page.evaluate(_MOVING)
    await page.emulate_media(reduced_motion="no-preference")
    return found
