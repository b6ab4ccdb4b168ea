"""How an e-mail looks: what stands inline on its parts, since many mail programs drop style sheets.

Colours that are to differ in the dark bear a class besides, which the frame's one style block turns
(`templates/email.html`). Where a page shows an e-mail in a frame it may look so, and do nothing
else. Pure.
"""

import hashlib
import re
from base64 import b64encode

from dunwell.platform.text.colors import is_color, measure_contrast

# Of what is no text (WCAG 2, 1.4.11), and of text.
_LEAST_CONTRAST = 3.0
_LEAST_CONTRAST_OF_TEXT = 4.5
_WHITE = "#ffffff"
# The pages' own.
_NEUTRAL = "#1f4a68"

_GAP = "margin:0 0 16px"
_HEADING = "margin:24px 0 8px;font-size:18px;line-height:1.3"
BLOCKS = {
    "p": _GAP,
    "ul": f"{_GAP};padding:0 24px",
    "ol": f"{_GAP};padding:0 24px",
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
WHAT = f"{_CELL}start"
HOW_MUCH = f"{_CELL}end;padding-inline-start:16px;white-space:nowrap"
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def choose_rule_color(color: str | None) -> str | None:
    """The brand's, for the line on top; none where it would not be seen on a white ground."""
    return color if _is_seen(color, _LEAST_CONTRAST) else None


def style_button(color: str | None) -> str:
    """In the brand's colour where white text can be read on it."""
    return _BUTTON.format(color if _is_seen(color, _LEAST_CONTRAST_OF_TEXT) else _NEUTRAL)


def _is_seen(color: str | None, least: float) -> bool:
    return color is not None and is_color(color) and measure_contrast(color, _WHITE) >= least


def render_frame_policy(html: str) -> str:
    """Nothing but what the message itself brings: style blocks, each named by its hash, what stands
    inline, and its picture. (A Content-Security-Policy.)"""
    digests = [hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(html)]
    styles = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; style-src-elem {styles}; style-src-attr 'unsafe-inline'; "
        "img-src data:; frame-ancestors 'self'; sandbox"
    )
