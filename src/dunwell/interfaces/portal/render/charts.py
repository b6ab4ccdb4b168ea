"""Render bar charts as SVG. Each bar is a link with a title, and the chart has a description for
screen readers; the page shows the same figures in a table. Only presentation attributes and classes
are used. Pure.

`draw_bars` draws bars below each other, with labels and figures; `draw_columns` draws columns side
by side, for days.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

# Sizes in units of the drawing (CSS pixels at full size).
_WIDTH = 640
# The width of charts in narrow columns of the page.
_NARROW_WIDTH = 440
_LABEL_WIDTH = 130
_FIGURE_WIDTH = 100
_ROW_HEIGHT = 26
_BAR_HEIGHT = 16
_COLUMN_HEIGHT = 120
_FOOT_HEIGHT = 22
_MIN_LENGTH = 2


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar. `figure` is the formatted value. `link` is a URL in the portal."""

    label: str
    value: int
    figure: str
    link: str


def draw_bars(bars: Sequence[Bar], title: str, description: str, name: str) -> Markup:
    """Draw horizontal bars. `name` is unique within the page."""
    highest = max((bar.value for bar in bars), default=0) or 1
    room = _NARROW_WIDTH - _LABEL_WIDTH - _FIGURE_WIDTH
    rows = [
        _draw_bar(
            bar,
            index * _ROW_HEIGHT,
            max(_MIN_LENGTH if bar.value else 0, bar.value * room // highest),
        )
        for index, bar in enumerate(bars)
    ]
    size = (_NARROW_WIDTH, _ROW_HEIGHT * len(bars))
    return _build_svg(rows, size, title=title, description=description, name=name)


def draw_columns(bars: Sequence[Bar], title: str, description: str, name: str) -> Markup:
    """Draw vertical bars. With many bars, only every second label is shown."""
    highest = max((bar.value for bar in bars), default=0) or 1
    step = _WIDTH / max(1, len(bars))
    label_interval = 1 if len(bars) <= 7 else 2
    rows = [
        _draw_column(
            bar,
            index * step,
            step,
            max(_MIN_LENGTH if bar.value else 0, bar.value * _COLUMN_HEIGHT // highest),
            is_labelled=(len(bars) - 1 - index) % label_interval == 0,
        )
        for index, bar in enumerate(bars)
    ]
    return _build_svg(
        rows,
        (_WIDTH, _COLUMN_HEIGHT + _FOOT_HEIGHT),
        title=title,
        description=description,
        name=name,
    )


def _build_svg(
    parts: Sequence[Markup], size: tuple[int, int], title: str, description: str, name: str
) -> Markup:
    return Markup(
        '<svg class="chart" role="group" viewBox="0 0 {width} {height}" width="{width}"'
        ' height="{height}" aria-labelledby="{name}-title {name}-desc">'
        '<title id="{name}-title">{title}</title><desc id="{name}-desc">{description}</desc>'
        "{parts}</svg>"
    ).format(
        width=size[0], height=size[1], name=name, title=title, description=description,
        parts=Markup("").join(parts),
    )  # fmt: skip


def _draw_bar(bar: Bar, top: int, length: int) -> Markup:
    return Markup(
        '<a href="{link}" aria-label="{label}: {figure}">'
        '<rect class="ground" x="{label_width}" y="{bar_top}" width="{room}" height="{bar}"></rect>'
        '<rect x="{label_width}" y="{bar_top}" width="{length}" height="{bar}"></rect>'
        '<text x="0" y="{base}">{label}</text>'
        '<text x="{end}" y="{base}" text-anchor="end">{figure}</text></a>'
    ).format(
        link=bar.link, label=bar.label, figure=bar.figure, label_width=_LABEL_WIDTH,
        room=_NARROW_WIDTH - _LABEL_WIDTH - _FIGURE_WIDTH, bar=_BAR_HEIGHT, bar_top=top + 4,
        base=top + 17, length=length, end=_NARROW_WIDTH,
    )  # fmt: skip


def _draw_column(bar: Bar, left: float, step: float, height: int, *, is_labelled: bool) -> Markup:
    label = Markup('<text x="{x:.1f}" y="{y}" text-anchor="middle">{label}</text>').format(
        x=left + step / 2, y=_COLUMN_HEIGHT + 16, label=bar.label
    )
    return Markup(
        '<a href="{link}" aria-label="{label}: {figure}"><title>{label}: {figure}</title>'
        '<rect class="ground" x="{x:.1f}" y="0" width="{width:.1f}" height="{whole}"></rect>'
        '<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{height}"></rect>{text}</a>'
    ).format(
        link=bar.link, label=bar.label, figure=bar.figure, x=left + 2, width=step - 4,
        whole=_COLUMN_HEIGHT, top=_COLUMN_HEIGHT - height, height=height,
        text=label if is_labelled else "",
    )  # fmt: skip
