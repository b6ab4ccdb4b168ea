"""`python -m bench [NAME...] [--quick] [--write]`: the figures, each beside its reference.

Every figure and its reference are measured in the same run, in alternating rounds, on the same
embedded PostgreSQL; what is printed are medians.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import uvloop

from bench import (
    contacts,
    create_many,
    create_one,
    deliveries,
    engine_steps,
    hostile,
    letters,
    lists,
    pages,
    preview,
)
from bench.ground import Ground, open_ground
from bench.line import Line
from bench.machine import describe_machine
from bench.rounds import FULL, QUICK, Scale
from bench.table import render_table

_RESULTS = Path(__file__).parent / "RESULTS.md"
_FIGURES: dict[str, Callable[[Ground, Scale], Awaitable[list[Line]]]] = {
    "create-one": create_one.measure,
    "create-500": create_many.measure,
    "engine": engine_steps.measure,
    "dispatcher": contacts.measure,
    "deliveries": deliveries.measure,
    "pages": pages.measure,
    "letters": letters.measure,
    "preview": preview.measure,
    "lists": lists.measure,
    "hostile": hostile.measure,
}


async def _measure(names: Sequence[str], scale: Scale) -> tuple[list[str], list[Line]]:
    """What it was measured on, and the lines."""
    lines: list[Line] = []
    async with open_ground() as ground:
        machine = await describe_machine(ground)
        for name in names:
            print(f"measuring {name} ...", flush=True)
            measured = await _FIGURES[name](ground, scale)
            print(render_table(measured), flush=True)
            lines += measured
    return machine, lines


def _write(machine: Sequence[str], lines: Sequence[Line]) -> None:
    head = [
        "# Figures",
        "",
        "Written by `python -m bench --write` (`make bench` prints the same). Each figure is the",
        "median of three rounds that alternate with its reference's, in one run on one machine;",
        "in brackets are the lowest and the highest round.",
        "",
        *(f"- {line}" for line in machine),
        "",
        "",
    ]
    _RESULTS.write_text("\n".join(head) + render_table(lines))


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(_FIGURES))
    parser.add_argument("--quick", action="store_true", help="one short round: to try things out")
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in _FIGURES]
    if unknown:
        parser.error(f"there is no figure {', '.join(unknown)}; there are {', '.join(_FIGURES)}")
    return given


def main() -> None:
    given = _read_arguments()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        machine, lines = runner.run(
            _measure(given.names or list(_FIGURES), QUICK if given.quick else FULL)
        )
    print("\n".join(machine))
    print(f"\n{render_table(lines)}")
    if given.write:
        _write(machine, lines)


if __name__ == "__main__":
    main()
