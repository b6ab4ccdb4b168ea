"""Files inside wheels that are downloaded, pinned by their hashes, and never installed."""

import importlib
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.tools import skip_or_fail

_FOLDER = Path(__file__).parents[2] / "var" / "bank-files"


@dataclass(frozen=True)
class Wheels:
    folder: Path

    def list_files(self, project: str, *suffixes: str) -> Iterator[tuple[str, bytes]]:
        """Yield the path and content of each file in a project's wheel that ends with one of the
        suffixes."""
        with zipfile.ZipFile(self.find(project)) as wheel:
            for name in sorted(wheel.namelist()):
                if name.endswith(suffixes):
                    yield name, wheel.read(name)

    def read(self, project: str, path: str) -> bytes:
        with zipfile.ZipFile(self.find(project)) as wheel:
            return wheel.read(path)

    def find(self, project: str) -> Path:
        (wheel,) = self.folder.glob(f"{project}-*.whl")
        return wheel

    def load_module(self, project: str, name: str) -> Any:
        """Import a module from a wheel, without installing it."""
        sys.path.insert(0, str(self.find(project)))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.pop(0)


def find_wheels() -> Wheels:
    if not (_FOLDER / "downloaded").exists():
        skip_or_fail("the files of other projects are not there; run: make contract")
    return Wheels(_FOLDER)
