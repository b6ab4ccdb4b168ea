"""The wheel contains everything that an installation needs: it is built, installed without the
sources, and started."""

import http.client
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dunwell.core.workflows.checking import render_definition_schema
from tests.faults.installation import Installation, plain_environment

ROOT = Path(__file__).parents[2]
# The files that a build reads.
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "requirements.in")
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder into which only the wheel was installed. Its dependencies are in this
    environment."""
    folder = tmp_path_factory.mktemp("wheel")
    source, wheels, target = folder / "source", folder / "wheels", folder / "target"
    for part in ("src", "docs"):
        without = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / part, source / part, symlinks=True, ignore=without)
    for name in SOURCES:
        shutil.copy(ROOT / name, source)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, source)
    [wheel] = wheels.iterdir()
    _pip("install", "--no-deps", "--no-index", "--target", target, wheel)
    return target


def _pip(*words: object) -> None:
    done = subprocess.run([*PIP, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _list_files(package: Path) -> set[str]:
    """Return every file below the folder, following links."""
    return {
        (Path(folder) / name).relative_to(package).as_posix()
        for folder, _, names in os.walk(package, followlinks=True)
        for name in names
        if not folder.endswith("__pycache__")
    }


def test_every_file_of_the_package_is_in_the_wheel(installed: Path) -> None:
    packaged = _list_files(installed / "dunwell")
    assert packaged == _list_files(installed.parent / "source" / "src" / "dunwell")
    endings = {Path(name).suffix for name in packaged}
    assert endings >= {".py", ".sql", ".html", ".css", ".po", ".typ", ".md"}


def test_an_installed_wheel_starts_migrates_and_serves_the_guides(
    installed: Path, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    assert _run("-c", "import dunwell; print(dunwell.__file__)").startswith(str(installed))
    assert json.loads(_run("-m", "dunwell", "workflow", "schema")) == render_definition_schema()
    installation.start_ready()
    for guide in (ROOT / "docs" / "merchant").glob("*.md"):
        title = guide.read_text().partition("\n")[0].removeprefix("# ")
        assert f">{title}</h1>" in _get(installation.port, f"/docs/{guide.stem}")
    assert "--" in _get(installation.port, "/docs/style.css")


def _run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", *words], capture_output=True, text=True, check=True,
        env=plain_environment(),
    )  # fmt: skip
    return done.stdout


def _get(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200, path
        return answer.read().decode()
    finally:
        connection.close()
