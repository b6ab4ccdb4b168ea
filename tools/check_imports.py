"""Fail if an import goes against the layers, or if a pure module imports I/O.

The layers are in pyproject.toml. A module is pure if its docstring ends with "Pure."; the second
contract is generated from these modules. import-linter checks both.
"""

import ast
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from importlinter.application.use_cases import lint_imports
from importlinter.configuration import configure

ROOT = Path(__file__).resolve().parent.parent
# Database, network, file store, log and randomness, through however many modules.
FORBIDDEN = (
    "dunwell.platform.database.database",
    "dunwell.platform.http.client",
    "aiohttp",
    "asyncpg",
    "starlette",
    "obstore",
    "random",
    "secrets",
    "socket",
    "structlog",
)


def find_pure_modules(source: Path) -> Iterator[str]:
    """The dotted names of the modules below `source` whose docstring ends with "Pure."."""
    for path in sorted(source.rglob("*.py")):
        introduction = ast.get_docstring(ast.parse(path.read_text()))
        if introduction is not None and introduction.endswith("Pure."):
            yield ".".join(path.relative_to(source).with_suffix("").parts)


def render_configuration(layers: str, pure_modules: Sequence[str]) -> str:
    """`layers` is the text of pyproject.toml. The contract on pure modules is appended."""
    return f"""{layers}
[[tool.importlinter.contracts]]
name = "Pure modules reach no database, network, file store, log or randomness"
type = "forbidden"
source_modules = {list(pure_modules)!r}
forbidden_modules = {list(FORBIDDEN)!r}
"""


def main() -> int:
    pure_modules = list(find_pure_modules(ROOT / "src"))
    text = render_configuration((ROOT / "pyproject.toml").read_text(), pure_modules)
    tomllib.loads(text)
    configure()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pyproject.toml"
        path.write_text(text)
        is_kept = lint_imports(str(path), no_logo=True)
    print(f"{len(pure_modules)} modules say that they are pure.")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
