"""Colours as #rrggbb in lower case, and the contrast of two colours (WCAG 2). Pure."""

import re

_HEX = re.compile(r"#[0-9a-f]{6}")


def is_color(text: str) -> bool:
    return _HEX.fullmatch(text) is not None


def measure_contrast(one: str, other: str) -> float:
    """Return WCAG 2's contrast ratio of two #rrggbb colours, from 1 to 21."""
    darker, lighter = sorted((_measure_luminance(one), _measure_luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _measure_luminance(color: str) -> float:
    red, green, blue = (_linearize(part / 255) for part in split_color(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linearize(part: float) -> float:
    """Return an sRGB component without gamma (WCAG 2, relative luminance)."""
    if part <= 0.04045:
        return part / 12.92
    linear: float = ((part + 0.055) / 1.055) ** 2.4
    return linear


def split_color(color: str) -> tuple[int, int, int]:
    """Return red, green and blue, each from 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
