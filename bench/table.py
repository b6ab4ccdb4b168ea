"""Lines as a table that is readable both as text and as Markdown. Pure."""

from collections.abc import Sequence
from statistics import median

from bench.line import Line

_HEADS = ("work", "Dunwell", "reference", "reached", "ratio", "goal", "")


def render_table(lines: Sequence[Line]) -> str:
    rows = [_HEADS, *(_render_row(line) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    shown = [_join(row, widths) for row in rows]
    return "\n".join([shown[0], rule, *shown[1:]]) + "\n"


def _render_row(line: Line) -> tuple[str, ...]:
    return (
        line.work,
        _render_values(line.ours, line.unit),
        line.beside,
        _render_values(line.reference, line.reference_unit or line.unit),
        "" if line.ratio is None else f"{line.ratio:.2f}",
        line.goal,
        line.verdict,
    )


def _join(row: Sequence[str], widths: Sequence[int]) -> str:
    return (
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
    )


def _render_values(values: Sequence[float], unit: str) -> str:
    """Return the median, and in brackets the lowest and the highest round."""
    if not values:
        return ""
    middle = f"{_render_number(median(values))} {unit}"
    if len(values) == 1:
        return middle
    return f"{middle} ({_render_number(min(values))}-{_render_number(max(values))})"


def _render_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
