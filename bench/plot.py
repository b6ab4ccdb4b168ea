"""A picture of how much of its goal each figure reaches, as bars with a line at the goal. Pure."""

from collections.abc import Iterator, Sequence
from html import escape

from bench.line import Line

_WIDTH, _TEXT, _ROW, _TOP = 1000, 520, 24, 40
# The goal is at one. A longer bar ends with an arrow.
_MOST = 2.0
_SCALE = (_WIDTH - _TEXT - 80) / _MOST


def render_plot(lines: Sequence[Line]) -> str:
    """Return an SVG document of all lines that have a goal."""
    judged = [(line, line.share) for line in lines if line.share is not None]
    height = _TOP + _ROW * len(judged) + 10
    goal = _TEXT + _SCALE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "<style>text { font: 12px sans-serif }</style>",
        "<title>How much of its goal each figure reaches</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        *(part for place, each in enumerate(judged) for part in _render_bar(place, *each)),
        f'<line x1="{goal}" y1="24" x2="{goal}" y2="{height}" stroke="#222"/>',
        f'<text x="{goal}" y="18" text-anchor="middle">the goal</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _render_bar(place: int, line: Line, share: float) -> Iterator[str]:
    y = _TOP + _ROW * place
    width = min(share, _MOST) * _SCALE
    color = "#2b7a4b" if share >= 1 else "#b3541e"
    mark = f"{share:.2f}" + (" →" if share > _MOST else "")
    name = escape(_shorten(line.work))
    yield f'<text x="{_TEXT - 8}" y="{y + 13}" text-anchor="end">{name}</text>'
    yield f'<rect x="{_TEXT}" y="{y}" width="{width:.1f}" height="{_ROW - 7}" fill="{color}"/>'
    yield f'<text x="{_TEXT + width + 5:.1f}" y="{y + 13}">{mark}</text>'


def _shorten(work: str) -> str:
    return work if len(work) <= 82 else work[:79] + "..."
