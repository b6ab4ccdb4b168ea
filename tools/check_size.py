"""Fails when a file, function or class is longer than its cap, or a module is not introduced.

Caps, in lines: a file 400, a function 60, a class 200. A cap is raised for one thing only, in
RAISED, with the reason in words.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("src", "tests", "tools", "bench", "examples")
FILE_CAP, FUNCTION_CAP, CLASS_CAP = 400, 60, 200
# "path" or "path:name" -> (the cap instead, why).
RAISED: dict[str, tuple[int, str]] = {}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_faults(path: str, text: str) -> Iterator[str]:
    """One line per thing of this file that is too long or missing."""
    tree = ast.parse(text)
    yield from _check(path, text.count("\n"), FILE_CAP)
    if path.startswith("src") and tree.body and ast.get_docstring(tree) is None:
        yield f"{path}: says nothing about itself; open it with a docstring"
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            yield from _check(f"{path}:{node.name}", _count_lines(node), FUNCTION_CAP)
        elif isinstance(node, ast.ClassDef):
            yield from _check(f"{path}:{node.name}", _count_lines(node), CLASS_CAP)


def _check(name: str, lines: int, usual_cap: int) -> Iterator[str]:
    cap, _ = RAISED.get(name, (usual_cap, ""))
    if lines > cap:
        yield f"{name}: {lines} lines, the cap is {cap}"


def _count_lines(node: _Function | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    faults = [
        fault
        for path in paths
        for fault in find_faults(str(path.relative_to(root)), path.read_text())
    ]
    print("\n".join(faults) if faults else f"{len(paths)} files are within their caps.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
