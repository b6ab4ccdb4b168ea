"""Rows turned into the arrays that PostgreSQL's unnest takes. Pure."""

from collections.abc import Iterable


def columns(rows: Iterable[tuple[object, ...]], width: int) -> list[list[object]]:
    """One list per column; `width` empty lists for no rows."""
    turned: list[list[object]] = [[] for _ in range(width)]
    for row in rows:
        for column, value in zip(turned, row, strict=True):
            column.append(value)
    return turned
