"""Halves and doubles each duration in a copy of the source, and runs the tests that are recorded
for it. All of them must fail; a test that passes does not check the duration.

    python -m tests.controls.stretch [--by 0.5 2] [NAME ...]

A NAME is, for example, "core/events/webhooks/retry.py DELAYS". The script takes some minutes and is
not part of `make faults`.
"""

import argparse
import ast
import re
import shutil
import sys
import tempfile
from pathlib import Path

from tests.controls.planted import run_tests
from tests.support.durations import SOURCE, list_durations
from tests.support.durations_found import find_tests
from tests.support.durations_without_rule import NO_RULE

# The exit code of pytest when tests failed.
_FAILED = 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "names", nargs="*", help='"core/events/webhooks/retry.py DELAYS"; default: all'
    )
    parser.add_argument("--by", nargs="+", type=float, default=[0.5, 2.0], help="factors")
    arguments = parser.parse_args()
    durations = list_durations()
    survivors = tried = 0
    for name in arguments.names or [each for each in durations if each not in NO_RULE]:
        for expression in durations[name].expressions:
            for factor in arguments.by:
                tried += 1
                is_noticed = _is_noticed(name, durations[name].file, expression, factor)
                survivors += not is_noticed
                call = ast.unparse(expression) if isinstance(expression, ast.Call) else ""
                result = "fails" if is_noticed else "PASSES"
                print(f"{result:<7} x {factor:<5g} {name} {call}", flush=True)
    print(f"{tried} changes of durations, {survivors} that no test notices")
    return survivors > 0


def _is_noticed(name: str, file: str, expression: ast.expr, factor: float) -> bool:
    with tempfile.TemporaryDirectory(prefix="stretch-") as folder:
        source = Path(folder)
        source.chmod(0o755)
        shutil.copytree(SOURCE, source / "dunwell")
        path = source / "dunwell" / file
        path.write_text(_stretch(path.read_text("utf-8"), expression, factor), "utf-8")
        ran = run_tests(find_tests(name), source)
    if ran.returncode not in (0, _FAILED):
        raise SystemExit(ran.stdout[-3000:] + ran.stderr[-3000:])
    return ran.returncode == _FAILED


def _stretch(text: str, expression: ast.expr, factor: float) -> str:
    lines = text.splitlines(keepends=True)
    assert expression.end_lineno is not None
    assert expression.end_col_offset is not None
    start = len("".join(lines[: expression.lineno - 1]).encode()) + expression.col_offset
    end = len("".join(lines[: expression.end_lineno - 1]).encode()) + expression.end_col_offset
    encoded = text.encode()
    expression_text = encoded[start:end].decode()
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        changed = re.sub(r"(interval '[1-9][^']*')", rf"\1 * {factor}", expression_text)
    else:
        changed = f"({expression_text} * {factor})"
    return (encoded[:start] + changed.encode() + encoded[end:]).decode()


if __name__ == "__main__":
    sys.exit(main())
