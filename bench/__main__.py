"""`python -m bench [NAME...] [--quick] [--write] [--minutes N]`: measure figures and their
references.

Every figure and its reference are measured in the same run, in alternating rounds, on the same
embedded PostgreSQL. The printed values are medians. A benchmark that fails is reported and does not
stop the others. None is started after the given minutes.
"""

import argparse
import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bench import (
    backlogs,
    bulk,
    contacts,
    create_many,
    create_one,
    create_statement,
    deliveries,
    emails,
    engine_steps,
    hostile,
    idle,
    letter_lines,
    letters,
    lists,
    pages,
    portal,
    preview,
    start_up,
    statements,
    texts,
    workers,
)
from bench.environment import Ground, open_ground
from bench.line import Line
from bench.machine import describe_machine
from bench.plot import render_plot
from bench.rounds import FULL, QUICK, Scale
from bench.table import render_table
from dunwell.platform.children.process import tune_garbage_collector

_RESULTS = Path(__file__).parent / "RESULTS.md"
_PLOT = _RESULTS.with_suffix(".svg")
_MINUTES = 45.0
_FIGURES: dict[str, Callable[[Ground, Scale], Awaitable[list[Line]]]] = {
    "create-one": create_one.measure,
    "create-500": create_many.measure,
    "create-statement": create_statement.measure,
    "engine": engine_steps.measure,
    "dispatcher": contacts.measure,
    "deliveries": deliveries.measure,
    "emails": emails.measure,
    "texts": texts.measure,
    "idle": idle.measure,
    "start-up": start_up.measure,
    "pages": pages.measure,
    "hostile": hostile.measure,
    "letters": letters.measure,
    "letter-lines": letter_lines.measure,
    "lists": lists.measure,
    "workers": workers.measure,
    "backlogs": backlogs.measure,
    "preview": preview.measure,
    "portal": portal.measure,
    "bulk": bulk.measure,
    "statements": statements.measure,
}


@dataclass(frozen=True, slots=True)
class _Run:
    """The description of the machine, the measured lines, and what is missing, in words."""

    machine: Sequence[str]
    lines: Sequence[Line]
    missing: Sequence[str]


async def _measure(names: Sequence[str], scale: Scale, minutes: float) -> _Run:
    lines: list[Line] = []
    missing = []
    end = time.monotonic() + minutes * 60
    # The same garbage collection as in the processes that are measured.
    tune_garbage_collector()
    async with open_ground() as ground:
        machine = await describe_machine(ground)
        for name in names:
            if time.monotonic() > end:
                missing.append(f"{name} was not begun: {minutes:g} minutes were over")
                continue
            print(f"measuring {name} ...", flush=True)
            started = time.monotonic()
            try:
                measured = await _FIGURES[name](ground, scale)
            except Exception as error:  # noqa: BLE001 - the others are measured all the same
                traceback.print_exc()
                missing.append(f"{name} failed: {type(error).__name__}: {error}")
                continue
            print(render_table(measured), flush=True)
            print(f"{name} took {time.monotonic() - started:.0f} s", flush=True)
            lines += measured
    return _Run(machine, lines, missing)


def _write(run: _Run) -> None:
    head = [
        "# Figures",
        "",
        "Written by `python -m bench --write` (`make bench` prints the same). Each figure is the",
        "median of three rounds that alternate with its reference's, in one run on one machine;",
        "in brackets are the lowest and the highest round.",
        "",
        *(f"- {line}" for line in run.machine),
        *(f"- Missing: {each}." for each in run.missing),
        "",
        f"![How much of its goal each figure reaches]({_PLOT.name})",
        "",
        "",
    ]
    _RESULTS.write_text("\n".join(head) + render_table(run.lines))
    _PLOT.write_text(render_plot(run.lines))


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(_FIGURES))
    parser.add_argument("--quick", action="store_true", help="one short round: to try things out")
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    parser.add_argument(
        "--minutes", type=float, default=_MINUTES, help="after which no further part is begun"
    )
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in _FIGURES]
    if unknown:
        parser.error(f"there is no figure {', '.join(unknown)}; there are {', '.join(_FIGURES)}")
    return given


def main() -> None:
    given = _read_arguments()
    names, scale = given.names or list(_FIGURES), QUICK if given.quick else FULL
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        run = runner.run(_measure(names, scale, given.minutes))
    print("\n".join(run.machine))
    print(f"\n{render_table(run.lines)}")
    print("\n".join(f"MISSING: {each}" for each in run.missing))
    if given.write:
        _write(run)
    sys.exit(bool(run.missing))


if __name__ == "__main__":
    main()
