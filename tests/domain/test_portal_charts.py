"""Charts as SVG: labels are escaped, and a value of 0 has no bar."""

from dunwell.interfaces.portal.render.charts import Bar, draw_bars, draw_columns


def test_labels_and_links_are_escaped() -> None:
    drawn = draw_bars([Bar('<b>"x"', 3, "3", '/a?b=1&c="')], "<t>", "<d>", "name")

    assert "<b>" not in drawn
    assert "&lt;b&gt;&#34;x&#34;" in drawn
    assert 'href="/a?b=1&amp;c=&#34;"' in drawn


def test_the_greatest_value_has_full_length_and_zero_has_none() -> None:
    drawn = draw_bars([Bar("a", 0, "0", "/a"), Bar("b", 10, "10", "/b")], "t", "d", "n")

    assert drawn.count('width="210" height="16"') == 3
    assert 'width="0" height="16"' in drawn


def test_a_chart_of_many_days_labels_every_second_and_the_last() -> None:
    bars = [Bar(str(day), day, str(day), "/") for day in range(1, 15)]

    drawn = draw_columns(bars, "t", "d", "n")

    assert ">14</text>" in drawn
    assert ">13</text>" not in drawn


def test_a_chart_without_values_is_rendered() -> None:
    assert "<svg" in draw_columns([], "t", "d", "n")
