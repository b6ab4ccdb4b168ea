"""A brand's colour is used only where text on it is readable."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.interfaces.landing.render import creditor as colors
from dunwell.interfaces.landing.render.creditor import NEUTRAL, choose_palette
from dunwell.platform.text.colors import measure_contrast

_CSS = (Path(colors.__file__).parents[1] / "web" / "landing.css").read_text()
_COLORS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


def test_contrast_is_computed_as_in_wcag() -> None:
    assert measure_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert measure_contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert measure_contrast("#ffffff", "#ffffff") == 1


@given(_COLORS, _COLORS)
def test_contrast_is_the_same_either_way(one: str, other: str) -> None:
    assert measure_contrast(one, other) == measure_contrast(other, one)


@given(_COLORS)
def test_text_is_readable_in_every_brand_colour(color: str) -> None:
    palette = choose_palette(color)

    for ground in ("#ffffff", "#f3f5f7", "#e8eef3", "#fdf3e4"):
        assert measure_contrast(palette.brand, ground) >= 4.5
        assert measure_contrast(palette.brand_deep, ground) >= 4.5


@pytest.mark.parametrize("color", [None, "", "#ffe600", "#0b5d5", "#0B5D57x", "red", "url(x)"])
def test_an_unreadable_brand_colour_gives_the_neutral_palette(color: str | None) -> None:
    assert choose_palette(color) == NEUTRAL


def test_a_dark_brand_colour_is_used() -> None:
    assert choose_palette("#0b5d57").brand == "#0b5d57"


def test_the_colours_of_the_stylesheet_are_the_checked_ones() -> None:
    assert f"--brand: {NEUTRAL.brand};" in _CSS
    assert f"--brand-deep: {NEUTRAL.brand_deep};" in _CSS
    assert "--ground: #f3f5f7;" in _CSS
    assert "background: #e8eef3;" in _CSS
    assert "background: #fdf3e4;" in _CSS
