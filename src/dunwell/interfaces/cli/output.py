"""Print tables for people and JSON for programs, show progress, and ask for confirmation."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from dunwell.platform.text.texts import render_count

_CLEAR_LINE = "\r\x1b[K"


def echo_json(value: Any) -> None:
    """Print one indented document. A msgspec struct is printed with its names on the wire."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str)))


def render_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str] = ()
) -> str:
    """Render a table with headings. Columns named in `right` are aligned right."""
    lines = [list(heads), *(list(row) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if head in right else cell.ljust(width)
            for head, cell, width in zip(heads, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def confirm(question: str, *, is_sure: bool) -> None:
    """Return if the user confirms, or has passed `--yes` (`is_sure`). Raises click.Abort if the
    user declines, and click.UsageError if there is no terminal to ask at."""
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(
            "Confirmation needs a terminal. Nothing was changed. Repeat with --yes."
        )
    click.confirm(question, abort=True)


@contextmanager
def show_progress() -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows progress on one line of standard error, which is erased at the
    end, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    def show(done: int, total: int) -> None:
        click.echo(f"\r{done:,} of {render_count(total, 'claim')}", err=True, nl=False)

    try:
        yield show
    finally:
        click.echo(_CLEAR_LINE, err=True, nl=False)
