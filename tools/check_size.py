"""Fail if a module, function, class or template line is too large, a module is too small, or a
module has no docstring.

Limits: 500 lines for a module or test module, 45 for a function, 200 for a class; 160 characters
for a line of a template. A module under 120 lines that exactly one module imports, from the same
folder, belongs to that module's subject and should be merged into it, unless it is the folder's
store, or is pure and imported by a test, or KEPT_APART gives a reason. The SQL of a folder is in
its `store.py`. The name of a public class is unique, so that a search for it finds one class. A
call has at most four positional arguments.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

FOLDERS = ("src", "tests", "tools", "bench", "examples")
MODULE_CAP, TEST_CAP, FUNCTION_CAP, CLASS_CAP, TEMPLATE_LINE_CAP = 500, 500, 45, 200, 160
SMALL_MODULE = 120
POSITIONAL_CAP = 4
# Functions that take any number of arguments, and some that are not ours.
ANY_NUMBER = frozenset({
    "execute", "fetch", "fetchrow", "fetchval", "_fetch", "_run", "_call", "nest", "partial",
    "TypeVar", "prctl", "create_subprocess_exec", "run_in_executor", "to_thread",
    "find_text",
})  # fmt: skip
# "path" or "path:name" -> (a higher cap, the reason).
RAISED: dict[str, tuple[int, str]] = {
    "src/dunwell/platform/http/server/connection.py:HttpConnection": (
        220,
        "the states of one connection, which are understood only together",
    ),
}
# A small module with one importer -> why it stays a module.
KEPT_APART = {
    "src/dunwell/cases/payments/requests/collected_instalments.py": "of debits, not of checkouts",
    "src/dunwell/interfaces/api/idempotency.py": "idempotency keys are a subject of their own",
    "src/dunwell/interfaces/portal/render/charts.py": "SVG is a subject of its own",
}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_faults(path: str, text: str) -> Iterator[str]:
    """Yield a line for each thing of one file that is too long or missing."""
    tree = ast.parse(text)
    cap = TEST_CAP if path.startswith("tests") else MODULE_CAP
    yield from _check(path, text.count("\n"), cap)
    if path.startswith("src") and tree.body and ast.get_docstring(tree) is None:
        yield f"{path}: has no docstring that introduces it"
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            yield from _check(f"{path}:{node.name}", _count_lines(node), FUNCTION_CAP)
        elif isinstance(node, ast.ClassDef):
            yield from _check(f"{path}:{node.name}", _count_lines(node), CLASS_CAP)
        elif isinstance(node, ast.Call) and path.startswith("src"):
            yield from _check_call(path, node)


def find_small_modules(files: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each small module of `files` that one module of its folder imports."""
    importers: dict[str, set[str]] = defaultdict(set)
    for path, text in files.items():
        for name in _list_imported(text):
            importers[name].add(path)
    for path, text in files.items():
        users = {each for each in importers[_name_module(path)] if each.startswith("src/")}
        if not _is_module(path) or text.count("\n") >= SMALL_MODULE or len(users) != 1:
            continue
        user = next(iter(users))
        is_near = PurePosixPath(user).parent == PurePosixPath(path).parent
        is_tested = any(each.startswith("tests/") for each in importers[_name_module(path)])
        is_kept = path in KEPT_APART or path.endswith("/store.py") or (_is_pure(text) and is_tested)
        if is_near and not is_kept:
            yield f"{path}: only {user} imports it; merge the two, or say why not in KEPT_APART"


def find_repeated_classes(files: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each name that more than one public class has."""
    owners: dict[str, list[str]] = defaultdict(list)
    for path, text in files.items():
        if path.startswith("src/"):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    owners[node.name].append(path)
    for name, paths in sorted(owners.items()):
        if len(paths) > 1:
            yield f"{', '.join(paths)}: each has a public class {name}; give it one meaning"


def find_misnamed_stores(paths: Iterable[str]) -> Iterator[str]:
    """Yield a line for each store whose file has another name than `store.py`."""
    for path in paths:
        name = PurePosixPath(path).stem
        if path.startswith("src/") and (name.startswith("store_") or name.endswith("_store")):
            yield f"{path}: call it store.py, in a folder of its own if need be"


def find_long_lines(path: str, text: str) -> Iterator[str]:
    """Yield a line for each line of a template that is too long."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > TEMPLATE_LINE_CAP:
            yield f"{path}:{number}: {len(line)} characters, the cap is {TEMPLATE_LINE_CAP}"


def _list_imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _name_module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def _is_module(path: str) -> bool:
    return path.startswith("src/") and not path.endswith("/__init__.py")


def _is_pure(text: str) -> bool:
    return (ast.get_docstring(ast.parse(text)) or "").endswith("Pure.")


def _check(name: str, lines: int, usual_cap: int) -> Iterator[str]:
    cap, _ = RAISED.get(name, (usual_cap, ""))
    if lines > cap:
        yield f"{name}: {lines} lines, the cap is {cap}"


def _check_call(path: str, call: ast.Call) -> Iterator[str]:
    name = ast.unparse(call.func).rpartition(".")[2]
    positional = sum(not isinstance(each, ast.Starred) for each in call.args)
    if positional > POSITIONAL_CAP and name not in ANY_NUMBER and "/migrations/" not in path:
        yield f"{path}:{call.lineno}: {name} gets {positional} arguments by position; name them"


def _count_lines(node: _Function | ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _read(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(paths)}


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    files = _read(root, (path for folder in FOLDERS for path in (root / folder).rglob("*.py")))
    found = (root / "src").rglob("templates/**/*.*")
    templates = _read(root, (path for path in found if path.suffix not in (".py", ".pyc")))
    faults = [
        *(fault for path, text in files.items() for fault in find_faults(path, text)),
        *(fault for path, text in templates.items() for fault in find_long_lines(path, text)),
        *find_small_modules(files),
        *find_repeated_classes(files),
        *find_misnamed_stores(files),
    ]
    print("\n".join(faults) if faults else f"{len(files)} files are as small as they should be.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
