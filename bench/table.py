"""Lines as a table that reads well as text and as Markdown. Pure."""

from collections.abc import Sequence

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
        f"{_render_value(line.value, line.unit)}{_render_spread(line.ours)}",
        line.beside,
        ""
        if line.reference_value is None
        else f"{_render_value(line.reference_value, line.unit)}{_render_spread(line.reference)}",
        "" if line.ratio is None else f"{line.ratio:.2f}",
        line.goal,
        line.verdict,
    )


def _join(row: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"


def _render_value(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"


def _render_spread(values: Sequence[float]) -> str:
    """The lowest and the highest round."""
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    return f" ({low:,.0f}-{high:,.0f})" if low >= 100 else f" ({low:.1f}-{high:.1f})"
