"""Fails when a file, function or class is longer than its cap, or a module is not introduced.

Caps, in lines: a file 500, tests too, a function 45, a class 200. Few modules hold one short
function alone: deep modules, not many shallow ones. A call gives at most four arguments by their
place; the others it names. A cap is raised for one thing only, in RAISED, with the reason.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("src", "tests", "tools", "bench", "examples")
FILE_CAP, TEST_CAP, FUNCTION_CAP, CLASS_CAP = 500, 500, 45, 200
# How many modules may hold one function of fewer lines than SHORT; __init__ apart.
SHALLOW_CAP, SHORT = 6, 15
# How many arguments a call gives by their place, and whom that does not bind: what takes as many as
# there are, and what stands outside of the house.
PLACED_CAP = 4
ANY_NUMBER = frozenset({
    "execute", "fetch", "fetchrow", "fetchval", "_fetch", "_run", "_call", "nest", "partial",
    "TypeVar", "prctl", "create_subprocess_exec", "run_in_executor", "to_thread",
})  # fmt: skip
# "path" or "path:name" -> (the cap instead, why).
RAISED: dict[str, tuple[int, str]] = {
    "src/dunwell/platform/http/server/connection.py:HttpConnection": (
        220,
        "the states of one connection, which are understood only together",
    ),
}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_faults(path: str, text: str) -> Iterator[str]:
    """One line per thing of this file that is too long or missing."""
    tree = ast.parse(text)
    cap = TEST_CAP if path.startswith("tests") else FILE_CAP
    yield from _check(path, text.count("\n"), cap)
    if path.startswith("src") and tree.body and ast.get_docstring(tree) is None:
        yield f"{path}: says nothing about itself; open it with a docstring"
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            yield from _check(f"{path}:{node.name}", _count_lines(node), FUNCTION_CAP)
        elif isinstance(node, ast.ClassDef):
            yield from _check(f"{path}:{node.name}", _count_lines(node), CLASS_CAP)
        elif isinstance(node, ast.Call) and path.startswith("src"):
            yield from _check_call(path, node)


def is_shallow(path: str, text: str) -> bool:
    """Whether a module holds one function alone, and that a short one."""
    definitions = [
        node for node in ast.parse(text).body if isinstance(node, _Function | ast.ClassDef)
    ]
    if not _is_module(path) or len(definitions) != 1:
        return False
    return isinstance(definitions[0], _Function) and _count_lines(definitions[0]) < SHORT


def _is_module(path: str) -> bool:
    return path.startswith("src/") and not path.endswith("/__init__.py")


def _check(name: str, lines: int, usual_cap: int) -> Iterator[str]:
    cap, _ = RAISED.get(name, (usual_cap, ""))
    if lines > cap:
        yield f"{name}: {lines} lines, the cap is {cap}"


def _check_call(path: str, call: ast.Call) -> Iterator[str]:
    name = ast.unparse(call.func).rpartition(".")[2]
    placed = sum(not isinstance(each, ast.Starred) for each in call.args)
    if placed > PLACED_CAP and name not in ANY_NUMBER:
        yield f"{path}:{call.lineno}: {name} gets {placed} arguments by place; name them"


def _count_lines(node: _Function | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    files = {str(path.relative_to(root)): path.read_text() for path in paths}
    faults = [fault for path, text in files.items() for fault in find_faults(path, text)]
    shallow = [path for path, text in files.items() if is_shallow(path, text)]
    if len(shallow) > SHALLOW_CAP:
        faults += [f"{path}: one short function; merge what changes together" for path in shallow]
    print("\n".join(faults) if faults else f"{len(paths)} files are within their caps.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
