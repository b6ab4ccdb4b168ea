"""Change the pure modules in small ways, one at a time (mutmut), and print the changes that no test
notices. They show rules that are not tested.

`python -m tools.mutants [--since REF [--most N]] [MODULE ...]` tests all pure modules, or those
named (`escalation.schedule`), or the functions that changed since REF, at most N of them. Results
are kept in var/mutants, so that only changed code is tested again. Surviving mutants are printed as
differences for a person to read, because some have no visible effect. The command fails if most of
the mutants that tests execute survive.
"""

import argparse
import ast
import filecmp
import fnmatch
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.check_imports import ROOT, find_pure_modules

TREE = ROOT / "var" / "mutants"
# The highest accepted share of survivors among the executed mutants. A tenth is usual, most of them
# in texts. Mutants that only tests with a database would execute do not count.
MOST_SURVIVORS = 0.5
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
# The tests that need only Python, without those that read the source code, because there all
# mutants of a function are next to each other.
_CONFIGURATION = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = {paths!r}
also_copy = {beside!r}
pytest_add_cli_args = [
  "-x", "-p", "no:schemathesis", "--ignore=tests/domain/test_fault_codes.py", "--deselect",
  "tests/domain/test_durations.py::test_every_duration_is_tested_or_has_a_reason_why_not",
]
pytest_add_cli_args_test_selection = ["tests/domain", "tests/statements/formats"]
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("modules", nargs="*", help="escalation.schedule; default: all pure ones")
    parser.add_argument("--since", help="only functions that changed since this commit")
    parser.add_argument("--most", type=int, help="test at most this number of changed functions")
    arguments = parser.parse_args()
    modules = list(_choose(arguments.modules))
    wanted = [f"{module}.*" for module in modules]
    if arguments.since is not None:
        changed = [each for module in modules for each in _list_changed(module, arguments.since)]
        wanted = changed[: arguments.most]
        print(f"{len(changed)} pure functions changed, {len(wanted)} are tried")
        modules = [each for each in modules if any(one.startswith(f"{each}.") for one in wanted)]
    if not wanted:
        return 0
    _build_tree(modules)
    _run_mutmut("run", *wanted)
    return _report(wanted)


def _choose(names: Sequence[str]) -> Iterator[str]:
    pure = list(find_pure_modules(ROOT / "src"))
    unknown = [each for each in names if f"dunwell.{each}" not in pure]
    if unknown:
        sys.exit(f"No pure modules: {', '.join(unknown)}.")
    yield from [f"dunwell.{each}" for each in names] or pure


def _list_changed(module: str, since: str) -> Iterator[str]:
    """Yield patterns of mutmut's names for the functions of a module that differ from those in a
    commit."""
    path = Path("src", *module.split(".")).with_suffix(".py")
    difference = subprocess.run(
        ["git", "diff", "-U0", since, "--", str(path)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    hunks = [match for line in difference.splitlines() if (match := _HUNK.match(line))]
    changed = {
        line
        for start, count in (match.groups(default="1") for match in hunks)
        for line in range(int(start), int(start) + int(count))
    }
    for owner, function in _list_functions(ast.parse((ROOT / path).read_text())):
        if changed & set(range(function.lineno, (function.end_lineno or function.lineno) + 1)):
            name = f"x_{function.name}" if owner is None else f"xǁ{owner}ǁ{function.name}"
            yield f"{module}.{name}__mutmut_*"


def _list_functions(tree: ast.Module) -> Iterator[tuple[str | None, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield None, node
        elif isinstance(node, ast.ClassDef):
            yield from (
                (node.name, each) for each in node.body if isinstance(each, ast.FunctionDef)
            )


def _build_tree(modules: Sequence[str]) -> None:
    """Copy the checkout and add mutmut's settings. Unchanged files keep their results."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in listed:
        _copy_changed(ROOT / name, TREE / name)
        # mutmut keeps its first copy of files that are not modules, so update them.
        if name.startswith("src/") and not name.endswith(".py") and (TREE / "mutants").exists():
            _copy_changed(ROOT / name, TREE / "mutants" / name)
    beside = sorted({name.partition("/")[0] for name in listed} - {"src", "tests"})
    paths = [str(Path("src", *each.split(".")).with_suffix(".py")) for each in modules]
    settings = _CONFIGURATION.format(paths=paths, beside=beside)
    (TREE / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + settings)


def _copy_changed(source: Path, target: Path) -> None:
    if target.is_symlink() or not source.exists():
        return
    if not (target.exists() and filecmp.cmp(source, target, shallow=False)):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target, follow_symlinks=False)


def _run_mutmut(*arguments: str, quiet: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=TREE, stdout=subprocess.PIPE if quiet else None, text=True, check=True,
    )  # fmt: skip
    return done.stdout or ""


def _report(wanted: Sequence[str]) -> int:
    lines = _run_mutmut("results", "--all", "true", quiet=True).splitlines()
    states = dict(line.strip().rsplit(": ", 1) for line in lines if ": " in line)
    tried = {
        name: state
        for name, state in states.items()
        if any(fnmatch.fnmatch(name, each) for each in wanted) and state != "not checked"
    }
    survivors = [name for name, state in tried.items() if state in ("survived", "no tests")]
    for name in survivors:
        shown = _run_mutmut("show", name, quiet=True).splitlines()
        difference = [line for line in shown if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        print(f"\n{name}: {tried[name]}", *difference, sep="\n")
    untested = sum(state == "no tests" for state in tried.values())
    unnoticed, run = len(survivors) - untested, len(tried) - untested
    print(f"\n{len(tried)} changes: {untested} in no such test, {unnoticed} of {run} unnoticed")
    return int(unnoticed > MOST_SURVIVORS * run)


if __name__ == "__main__":
    sys.exit(main())
