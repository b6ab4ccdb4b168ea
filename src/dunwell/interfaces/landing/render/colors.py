"""The colours of a merchant's pages: its own where they can be read, else the neutral ones.

The brand's colour carries white text and is itself text and line on the page's grounds, so it is
held to WCAG's 4.5:1 against each. Pure.
"""

from dataclasses import dataclass

from dunwell.platform.text.colors import is_color, measure_contrast, split_color

_LEAST_CONTRAST = 4.5
# The grounds of landing.css on which something stands in the colour: --paper, --ground, a notice's.
_GROUNDS = ("#ffffff", "#f3f5f7", "#e8eef3", "#fdf3e4")
_DARKER_BY = 0.82


@dataclass(frozen=True, slots=True)
class Palette:
    """`brand` under white text, `brand_deep` the same while a pointer is over it."""

    brand: str
    brand_deep: str


NEUTRAL = Palette("#1f4a68", "#163850")


def choose_palette(color: str | None) -> Palette:
    """The brand's palette, or the neutral one when there is none, or none that can be read."""
    if color is None or not is_color(color):
        return NEUTRAL
    if min(measure_contrast(color, request_facts) for request_facts in _GROUNDS) < _LEAST_CONTRAST:
        return NEUTRAL
    return Palette(color, _darken(color))


def _darken(color: str) -> str:
    return "#" + "".join(f"{int(part * _DARKER_BY):02x}" for part in split_color(color))
