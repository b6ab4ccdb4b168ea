"""The look of an e-mail, with inline styles because many mail clients ignore style sheets, and the
table of the claim's items. Pure."""

import hashlib
import re
from base64 import b64encode

from dunwell.contact.messages.templates.facts import MessageItem
from dunwell.contact.messages.templates.formatting import MessageValues, escape, label_item
from dunwell.platform.text.colors import is_color, measure_contrast

# The minimum contrast of graphics and of text (WCAG 2, 1.4.11 and 1.4.3).
_MIN_GRAPHICS_CONTRAST = 3.0
_MIN_TEXT_CONTRAST = 4.5
_WHITE = "#ffffff"
# The color of the debtor pages.
_NEUTRAL = "#1f4a68"

_PARAGRAPH_MARGIN = "margin:0 0 16px"
_HEADING = "margin:24px 0 8px;font-size:18px;line-height:1.3"
BLOCKS = {
    "p": _PARAGRAPH_MARGIN,
    "ul": f"{_PARAGRAPH_MARGIN};padding:0 24px",
    "ol": f"{_PARAGRAPH_MARGIN};padding:0 24px",
    "li": "margin:0 0 6px",
    **{f"h{level}": _HEADING for level in range(1, 7)},
}
BOX = (
    "margin:0 0 20px;padding:16px 20px;background:#f3f5f7;border:1px solid #d5dce3;"
    "border-radius:8px;font-size:24px;line-height:1.3"
)
BOX_LABEL = "display:block;font-size:14px;color:#4a5866"
_BUTTON = (
    "display:inline-block;padding:13px 24px;border:1px solid {0};border-radius:8px;background:{0};"
    "color:#ffffff;font-weight:bold;text-align:center;text-decoration:none"
)
_CELL = "padding:8px 0;border-bottom:1px solid #d5dce3;vertical-align:top;text-align:"
TABLE = "width:100%;border-collapse:collapse;margin:0 0 16px"
DESCRIPTION_CELL = f"{_CELL}start"
AMOUNT_CELL = f"{_CELL}end;padding-inline-start:16px;white-space:nowrap"
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def choose_line_color(color: str | None) -> str | None:
    """Return the brand color for the line at the top, or None if it would not be visible on
    white."""
    return color if _has_contrast(color, _MIN_GRAPHICS_CONTRAST) else None


def render_button_style(color: str | None) -> str:
    """Return the style of the button: the brand color if white text is readable on it, otherwise
    the neutral color."""
    return _BUTTON.format(color if _has_contrast(color, _MIN_TEXT_CONTRAST) else _NEUTRAL)


def _has_contrast(color: str | None, min_contrast: float) -> bool:
    return color is not None and is_color(color) and measure_contrast(color, _WHITE) >= min_contrast


def render_frame_policy(html: str) -> str:
    """Return the Content-Security-Policy of the frame in which a page shows the message. It allows
    only the content of the message itself: its style blocks (by hash), inline styles and images."""
    digests = [hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(html)]
    styles = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; style-src-elem {styles}; style-src-attr 'unsafe-inline'; "
        "img-src data:; frame-ancestors 'self'; sandbox"
    )


# The maximum width of the description column. A longer description moves only its own amount to
# the right.
_MAX_DESCRIPTION_WIDTH = 48


def render_items_html(values: MessageValues) -> str:
    """Return the items as a table with two columns, which fit a phone: description and amount."""
    translate = values.translation.translate
    rows = "".join(
        f'<tr><td style="{DESCRIPTION_CELL}">{escape(label_item(item, values.translation))}'
        f"{_explain_html(item, values)}"
        f'</td><td style="{AMOUNT_CELL}">{escape(values.money(item.value_cents))}</td></tr>'
        for item in values.facts.claim.items
    )
    sums = "".join(
        f'<tr><th scope="row" style="{DESCRIPTION_CELL}">{escape(label)}</th>'
        f'<td style="{AMOUNT_CELL};font-weight:bold">{escape(amount)}</td></tr>'
        for label, amount in list_sums(values)
    )
    return (
        f'<table class="items" style="{TABLE}"><thead>'
        f'<tr><th scope="col" style="{DESCRIPTION_CELL}">{escape(translate("Item"))}</th>'
        f'<th scope="col" style="{AMOUNT_CELL}">{escape(translate("Amount"))}</th></tr></thead>'
        f"<tbody>{rows}</tbody><tfoot>{sums}</tfoot></table>\n"
    )


def render_items_text(values: MessageValues) -> str:
    """Return the items as plain text: one line per item with aligned amounts, its explanation, a
    rule and the sums."""
    claim = values.facts.claim
    items = [
        (label_item(item, values.translation), values.money(item.value_cents))
        for item in claim.items
    ]
    sums = list_sums(values)
    label_width = min(max(len(label) for label, _ in items + sums), _MAX_DESCRIPTION_WIDTH)
    amount_width = max(len(amount) for _, amount in items + sums)
    lines = []
    for item, (label, amount) in zip(claim.items, items, strict=True):
        lines.append(f"{label:<{label_width}}  {amount:>{amount_width}}")
        lines += [f"  {sentences}" for sentences in [explain_item(item, values)] if sentences]
    lines.append("-" * (label_width + 2 + amount_width))
    lines += [f"{label:<{label_width}}  {amount:>{amount_width}}" for label, amount in sums]
    return "\n".join(lines)


def explain_item(item: MessageItem, values: MessageValues) -> str:
    """Return the reason of the item and its dates, in the words of the debtor pages."""
    translate, sentences = values.translation.translate, []
    if item.type == "COLLECTION_FEE":
        sentences.append(
            translate(
                "The fee is for collecting the amount, because it was not paid when it was due."
            )
        )
    if item.type == "DUNNING_FEE":
        sentences.append(
            translate("The fee is for a reminder, because the amount was not paid when it was due.")
        )
    if item.item_date:
        sentences.append(translate("Dated %(day)s.", day=values.day(item.item_date)))
    if item.due_date:
        sentences.append(translate("Due on %(day)s.", day=values.day(item.due_date)))
    return " ".join(sentences)


def _explain_html(item: MessageItem, values: MessageValues) -> str:
    sentences = explain_item(item, values)
    return (
        f'<br><small class="quiet" style="{BOX_LABEL}">{escape(sentences)}</small>'
        if sentences
        else ""
    )


def list_sums(values: MessageValues) -> list[tuple[str, str]]:
    """Return the labels and amounts below the items: the total and, if it differs, the outstanding
    amount."""
    claim, translate = values.facts.claim, values.translation.translate
    sums = [(translate("Total"), values.money(claim.total_cents))]
    if claim.outstanding_cents != claim.total_cents:
        sums.append((translate("Still to pay"), values.money(claim.outstanding_cents)))
    return sums
