"""The colours of a merchant's pages: its own where they can be read, else the neutral ones. Pure.

The brand's colour carries white text and is itself text and line on the page's grounds, so it is
held to WCAG's 4.5:1 against each.
"""

import re
from dataclasses import dataclass

_LEAST_CONTRAST = 4.5
_HEX = re.compile(r"#[0-9a-f]{6}")
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
    if color is None or not _HEX.fullmatch(color):
        return NEUTRAL
    if min(measure_contrast(color, ground) for ground in _GROUNDS) < _LEAST_CONTRAST:
        return NEUTRAL
    return Palette(color, _darken(color))


def measure_contrast(one: str, other: str) -> float:
    """WCAG 2's contrast ratio of two #rrggbb colours, from 1 to 21."""
    darker, lighter = sorted((_measure_luminance(one), _measure_luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _measure_luminance(color: str) -> float:
    red, green, blue = (_linearize(part / 255) for part in _split(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linearize(part: float) -> float:
    """An sRGB component without its gamma (WCAG 2, relative luminance)."""
    if part <= 0.04045:
        return part / 12.92
    linear: float = ((part + 0.055) / 1.055) ** 2.4
    return linear


def _darken(color: str) -> str:
    return "#" + "".join(f"{int(part * _DARKER_BY):02x}" for part in _split(color))


def _split(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
