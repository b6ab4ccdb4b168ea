"""How far a long read has come, for a person at a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def show_progress() -> Iterator[Callable[[int, int], None] | None]:
    """On one line of standard error, which is gone in the end; None: no person looks."""
    if not sys.stderr.isatty():
        yield None
        return

    def tell(done: int, total: int) -> None:
        click.echo(f"\r{done:,} of {total:,} claims", err=True, nl=False)

    try:
        yield tell
    finally:
        click.echo(_CLEAR_LINE, err=True, nl=False)
